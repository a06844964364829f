"""Signals about the calls of a turn: the same call twice, failures that the reply does not mention."""

import re

import orjson

from .signal import CALL, NO, Answer, State
from .turn_texts import CallTexts, TurnTexts

READERS = re.compile(
    r"(?i)(?:^|[_.\-/:])(?:read|list|ls|get|search|find|grep|glob|fetch|view|show|query|lookup|look_?up|describe|stat|"
    r"head|cat|browse|recall|check|count|weather|calendar|web|memory)(?=$|[_.\-/:A-Z\d])|(?:search|fetch|list|read|"
    r"get)$"
)
READING_COMMAND = re.compile(
    r"\s*(?:cd [^;&|]+&&\s*)?(?:ls|cat|head|tail|grep|rg|find|stat|wc|du|df|pwd|which|echo|git (?:log|status|diff|"
    r"show))\b(?!.*(?:>|\brm\b|\bmv\b|\btee\b|-delete))",
    re.DOTALL,
)
# Calls that are repeated for a reason: to wait, or to draw again.
MEANT = re.compile(
    r"(?i)\b(?:poll|wait|sleep|(?<!git )status|tail|progress|shuf|random\w*|\$RANDOM|dice|roll|flip|draw)\b"
)
COMMANDS = ("command", "cmd", "script")
MENTION = re.compile(
    r"(?i)\b(?:fail\w*|errors?|erro?red|could ?n[o']?t|couldn’t|could not|unable|can ?not|can['’]t|did ?n['’]t|"
    r"was ?n['’]t|were ?n['’]t|would ?n['’]t|wo ?n['’]t|does ?n['’]t|not (?:found|available|work\w*|able|reach\w*|"
    r"allowed|respond\w*|exist\w*|possible|load\w*)|no (?:access|response|luck|permission|such|results?)|denied|"
    r"refused|timed? ?out|times out|timeouts?|unavailable|unreachable|unsuccessful\w*|retr(?:y|ied|ies|ying)|blocked|"
    r"rejected|missing|crash\w*|broke\w*|trouble|hiccups?|exception|offline|forbidden|unauthori[sz]ed|went wrong|"
    r"gave up|(?:ran|run) into|instead|neither|nor|none of|not yet)\b|\b(?:second|third|fourth|another|few|several|"
    r"two|three|2|3) (?:attempt|tr(?:y|ies))|失败|错误|报错|出错|不出来?|没法|次才|才[好行]|无法|不能|没能|未能|不了|"
    r"没(?:有)?(?:找到|成功|响应|权限|反应|通过|查到|连上|结果|拿到)|找不到|未找到|超时|拒绝|不可用|异常|重试|再试|"
    r"不存在|无权|断开|受阻|没有返回|换了|改用|遇到.{0,8}问题|出了.{0,4}问题|打不开|连不上|不通|中断|挂了|崩溃|缺失|"
    r"缺少"
)
NOT_A_MENTION = re.compile(
    r"(?i)\b(?:no|without|zero|0)(?: any| further| other)? (?:errors?|failures?|problems?|issues?|trouble|hiccups?)|"
    r"\b(?:never|didn't|did not|nothing) fail\w*|(?:没有|没|无|未)(?:出现|发生|遇到|任何|什么)*(?:错误|异常|失败|报错|"
    r"问题)"
)


def find_repeated_call(texts: TurnTexts) -> Answer:
    """A call with the name and arguments of one before, with nothing between that may have changed its result."""
    if len(texts.calls) < 2:
        return NO
    before: dict[tuple[str, bytes], CallTexts] = {}
    for call in texts.calls:
        key = (call.name, orjson.dumps(call.arguments, option=orjson.OPT_SORT_KEYS, default=str))
        earlier = before.get(key)
        if earlier and _is_needless(earlier, call, key[1].decode()):
            return Answer(State.YES, CALL, call.id, call.record_id)
        if not _is_reading(call):
            before.clear()
        before[key] = call
    return NO


def _is_needless(earlier, call, arguments):
    if earlier.is_failed or MEANT.search(call.name) or MEANT.search(arguments[:500]):
        return False
    return earlier.result == call.result or not _is_reading(call)


def _is_reading(call):
    command = next((call.arguments[name] for name in COMMANDS if isinstance(call.arguments.get(name), str)), None)
    return bool(READING_COMMAND.match(command[:2_000]) if command is not None else READERS.search(call.name))


def find_silent_failures(texts: TurnTexts) -> Answer:
    """Two or more failed calls, and no word about a failure in the reply."""
    failed = [call for call in texts.calls if call.is_failed and call.result != ""]  # an empty one: nothing matched
    if len(failed) < 2 or not texts.reply:
        return NO
    mentions = MENTION.search(NOT_A_MENTION.sub(" ", texts.reply))
    return NO if mentions else Answer(State.YES, CALL, failed[-1].id, failed[-1].record_id)
