"""Signals that the reply alone answers, or the reply beside its question: empty, cut off, in another language, …"""

import re

import orjson

from ledger.collectors.answers import CUT_STOPS

from ..models import CUT_OFF, INTERRUPTED
from .languages import SCRIPTS, count_scripts, detect_language, strip_code
from .signal import NO, NOT_YET, UNKNOWN, Answer, build_yes
from .turn_texts import TurnTexts

ASKS = re.compile(
    r"[?？]|[吗呢](?=[\s，,。！!]|$)|(?i:\b(?:which|what|how|why|when|where|who)\b)|多少|哪|几|什么|原因|怎么|为什么|"
    r"谁|多久|是不是|有没有"
)
YES_NO = re.compile(
    r"(?i)(?:^|[.,!?;]\s*|\b(?:and|so|but|now) )(?:is|are|was|were|do|does|did|can|could|should|shall|will|would|has|"
    r"have|had)\b|[^.]{1,40}\bright\?|吗|[对是好行]吧|是不是|有没有|能不能|可不可以|要不要"
)
YES_OR_NO = re.compile(r"(?i)(?:yes|yep|no|nope|right|correct)\b|可以的?|能|行|对的?|是的?|不是|没有|有|会|不会")
THANKS = re.compile(r"(?i)谢|thank|thx")
SHORT = 1_500  # characters
HAN = re.compile(r"[\u0250-\uffff]")
NO_WORDS = re.compile(r"[\W_]+")
# Words and signs of confirmations, promises and courtesies: a reply of nothing else has no answer.
GENERIC_WORDS = (
    "a about absolutely again alright am and any anything appreciate are as asking assist at back be best better can "
    "care certainly check come course dig do else excellent figure find for get give glad go good got great hang "
    "happy have hear hello help here hi hmm hold hope how i i'd i'll i'm i've idea if in information interesting into "
    "is it it'll its just know later let let's letting like ll look maybe me minute moment more my need no noted now "
    "of oh ok okay on one out perhaps please point problem pull question questions quick right s sec second see shall "
    "sharing shortly should so some something soon still sure take thank thanks that that's the then there thing "
    "things think this time to today together tough try understand understood up us very wait want we we'll welcome "
    "well what what's will with work working would yes yep you you're your none null undefined todo tbd lorem ipsum "
)
DONE_WORDS = (
    "all above answer answered asked below checked complete completed done everything finished following handled "
    "here's processed ready request requested result results saved sent set successfully task"
)
GENERIC = frozenset(GENERIC_WORDS.split())
GENERIC_OR_DONE = GENERIC.union(DONE_WORDS.split())
GENERIC_HAN = frozenset(
    "好的嗯哦噢啊呃哈收到明白了解知道可以行没问题当然是对稍等候一下片刻请马上这就我来去先帮你您给为看查试处理想正在谢不客气很高兴能服务忙"
    "有什么希望助还需要吗随时告诉会尽快安排交吧放心如已阅个意思呢回头复答再待儿暂无哪些地方最联系后续跟进思考开始弄研究"
)
DONE_HAN = GENERIC_HAN.union("已经完成功结果任务毕办记")
NEEDS_NO_ANSWER = re.compile(
    r"(?i)\W*(?:$|lol|haha|don'?t (?:reply|answer)|no need|ok(?:ay)?|thanks?(?: you)?|thx|great|nice|cool|"
    r"good (?:morning|afternoon|evening|night|job)|早|perfect|bye|got it|hi|hello|hey|yes|no|remember|note|"
    r"keep in mind|fyi|just so you know|from now on|never|always|please (?:remember|note|wait|remind)|remind|(?:i|we|"
    r"my|our)\b(?! need| want|['’]d like| would like)(?!.*\?)|谢|好的|好|嗯|知道了|收到|辛苦|晚安|拜拜|再见|你好|记住|"
    r"记一下|请记|帮我记|以后|提醒|从现在|我(?!.*[吗?？么]))"
)
# Ends in the middle: of a list, a clause, a word that something follows, brackets or code.
OPEN_END = re.compile(
    r"(?:[,，、;；:：(（\[{「《“‘=+&/\\]|(?<=\s)[-–—]|(?:^|\s)(?:and|or|but|the|a|an|of|to|in|on|at|for|with|from|by|"
    r"as|is|are|was|were|be|because|so|that|which|if|when|than|your|my|its|their|this|these|will|would|can|could|"
    r"should|has|have|not|into|about|between|it's|i|we|you|they)|"
    r"[的和与或及在把被将从对向因为但而且并以即是若如果由所])$",
    re.IGNORECASE,
)
PARTICLE = re.compile(r"[吧呢啦哦呀吗嘛喔哈噢啊了]$")
ENDS = re.compile(r"[。！？…]|(?<!\d)[.!?](?=\s|$|[\"'”’)）」*_])")
ITEM = re.compile(r"\s*(?:[-*•·+]|\d{1,3}[.)、]|#{1,6}|\||>)\s*")
ANOTHER_LANGUAGE = re.compile(
    r"(?i)translat|\b(?:english|chinese|mandarin|cantonese|french|german|spanish|japanese|korean|italian|russian|"
    r"portuguese|arabic|latin|hindi|greek|dutch|swedish)\b|\bhow (?:do|would|to|can) (?:you|i|we|one)? ?say|commit|"
    r"翻译|译[成为文]|[英中法德日韩俄西葡]文|[英日法德韩俄]语|汉语|怎么说"
)
SYMBOLS = (
    r"<\|[a-z_]{2,30}\|>|</?(?:think|thinking|thought|antml:\w+|function_calls?|tool_calls?|tool_use|tool_response|"
    r"tool_result|invoke|parameter|system-reminder|scratchpad|reflection)\b[^<>\n]{0,80}>|\[/?INST\]|<</?SYS>>|</?s>|"
    r"<(?:start|end)_of_turn>|\[TOOL_(?:CALLS|RESULTS)\]|<｜[^｜\n]{1,30}｜>|\[\[(?:reply_to|"
    r"audio_as)[^\]\n]{0,60}\]\]|<(?:bos|eos|pad|unk)>|【/?(?:思考|工具调用|调用|系统|工具)】|\bfunctions\.\w+:\d+"
)
TRACE = (
    r"Traceback \(most recent call last\)|^[ \t]+File \"[^\"\n]{1,200}\", line \d+|"
    r"^[ \t]+at [\w.$<>\[\] ]{1,120}\([^()\n]{1,200}:\d+(?::\d+)?\)|^[ \t]+at (?:file://|/|node:)\S+:\d+:\d+|"
    r"^(?:panic: |goroutine \d+ \[)|^Caused by: [\w.]+(?:Exception|Error)|^thread '\w+' panicked at"
)
PROMPT = (
    r"^(?:#+ )?(?:system prompt|system message|### ?instructions?|### ?response)\s*[:：]?|^(?:system|human|user|"
    r"assistant|用户|助手|系统)\s*[:：]|^<?\|?(?:im_start|system)\|?>|you are (?:a|an) [\w ,-]{0,60}(?:assistant|"
    r"language model|agent)\b[^.?!\n]{0,80}[.,]|^as an ai language model|你是(?:一个|一名|一位)?[^。\n]{0,30}(?:助手|"
    r"助理|智能体|语言模型)[。，]|系统提示词?[:：]|\b(?:NO_REPLY|HEARTBEAT_OK|ANNOUNCE_SKIP|REPLY_SKIP)\b|"
    r"knowledge cutoff:"
)
MACHINE = re.compile(rf"(?:{SYMBOLS})|(?:{TRACE})|(?i:{PROMPT})", re.MULTILINE)
CALL_KEYS = {
    *("arguments", "parameters", "tool_calls", "tool_call", "function_call", "toolCallId", "tool_use_id", "tool"),
    *("action_input", "recipient_name", "isError", "exitCode", "exit_code", "stderr"),
}
INNER_CALL = re.compile(
    r"\{\s{0,9}\"(?:name|tool|tool_name|function|"
    r"action)\"\s{0,9}:\s{0,9}\"[\w.-]{1,80}\"\s{0,9},\s{0,9}\"(?:arguments|parameters|input|args|action_input|"
    r"params)\"\s{0,9}:"
)
JSON_REQUEST = re.compile(
    r"(?i)\bjson\b|schema|payload|function.?call|tool.?call|token|prompt|trace|提示词|堆栈|报错|工具调用|令牌|标记"
)
AGAIN = re.compile(
    r"(?i)\b(?:again|repeat|once more|same|resend|copy|deleted|lost|didn't (?:get|see|receive)|what was|remind me)\b|"
    r"再(?:说|发|来|讲|给|念|重复)|重复|重发|重新|一样|同样|没收到|没看到|删了|来着|忘了"
)
# A name between signs, or after a greeting; and a title with a name, which is somebody's whether known or not.
ADDRESS = re.compile(
    r"(?:^|[,，。.!！?？\n]\s*(?:(?:and|but|hi|hello|hey|dear|thanks|thank you|sorry|good \w+|你好|您好|谢谢|"
    r"亲爱的)\s*)?)@?((?:[A-Z\u00c0-\u024f][\w'-]{1,20}(?: [A-Z\u00c0-\u024f][\w'-]{1,20})?)|"
    r"[\u4e00-\u9fff·]{1,4}[A-Za-z]{0,8})\s*(?=[,，:：.。!！?？~～\n]|\s[-–—]|$|[\u2600-\u27bf\U0001f300-\U0001faff]|"
    r"你好|您好|早上好|晚上好)"
)
DRAFTS = re.compile(
    r"(?i)\b(?:write|draft|e?-?mail|letter|card|speech|toast|invit\w+|repl(?:y|ies) to|announce\w*)\b|写|邮件|"
    r"信[给息]|短信|祝福|贺|邀请|通知|发给|转告|念给|讲给"
)
OPENING = re.compile(
    r"(?i)(?:hi|hello|hey|dear|thanks|thank you|sorry|good (?:morning|afternoon|evening)|亲爱的|早上好|晚上好|"
    r"[你您]好|嗨)[ ，,]*@?([\w'-]{1,20})"
)
TITLED = re.compile(
    r"(?:^|[,，。.!！]\s*|(?:Hi|Hello|Dear)\s+)(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? ([A-Z]\w+)|"
    r"([\u4e00-\u9fff])[\u4e00-\u9fff]?(?:先生|女士|阿姨|叔叔?|老师|总|经理|大哥|大姐|同学|小姐|太太|医生|师傅|哥|"
    r"姐))(?=[,，.。!！:：]|[你您]好)"
)


def find_empty_reply(texts: TurnTexts) -> Answer:
    """No reply, one without words, or nothing but the promise or the confirmation of one."""
    reply = texts.reply.strip()
    if not reply and texts.next_question is None and texts.stop in ("", *INTERRUPTED):
        return NOT_YET
    if len(reply) > 200:
        return NO
    words = NO_WORDS.sub(" ", reply.replace("'", "\0").replace("’", "\0")).replace("\0", "'").strip()
    latin, han = frozenset(SCRIPTS["latin"].findall(words.casefold())), frozenset(HAN.findall(words))
    has_number = any(sign.isdecimal() for sign in words)
    is_done = latin <= GENERIC_OR_DONE and han <= DONE_HAN and not has_number
    asks = ASKS.search(texts.question)
    is_remark = len(texts.question) < 60 and not asks  # or an instruction
    if is_remark and (THANKS.search(texts.question) or (reply and not words) or (is_done and texts.calls)):
        return NO
    if not words:
        return build_yes(texts)
    if YES_OR_NO.match(words) and YES_NO.search(texts.question):
        return NO
    is_empty = is_done and (asks or (latin <= GENERIC and han <= GENERIC_HAN))
    is_empty = is_empty or (len(reply) < 100 and reply.endswith((":", "：")))
    return build_yes(texts) if is_empty and not NEEDS_NO_ANSWER.match(texts.question) else NO


def find_cut_off(texts: TurnTexts) -> Answer:
    """A stop reason of an unfinished reply, or a text that ends in the middle."""
    reply = texts.reply.rstrip()
    if texts.stop in INTERRUPTED and texts.next_question is None:
        return NOT_YET
    # A short text that is complete has not reached a limit of tokens, whatever the stop reason says.
    is_stopped = texts.stop in (*CUT_OFF, *INTERRUPTED) and (texts.stop not in CUT_STOPS or len(reply) > SHORT)
    return build_yes(texts) if is_stopped or (reply and _ends_in_the_middle(reply)) else NO


def _ends_in_the_middle(reply):
    if reply.count("```") % 2:
        return True
    if reply.endswith("```"):
        return False
    body, _break, last = reply.rpartition("\n")
    words = last.rstrip("*_ ")
    if words.startswith("|"):
        return body.rpartition("\n")[2].startswith("|") and not words.endswith("|")
    if ITEM.fullmatch(last) or OPEN_END.search(words):
        return True
    if words.count("(") > words.count(")") or words.count("（") > words.count("）") or words.count("`") % 2:
        return True
    is_signature = body.endswith("\n") and len(last) <= 40 and not last.startswith(" ")
    if is_signature or not words[-1:].isalnum() or PARTICLE.search(words):
        return False
    ends = [match.end() for match in ENDS.finditer(reply)]
    if not ends or (ITEM.match(last) and not ENDS.search(body.rpartition("\n")[2])):  # items without full stops
        return False
    rest = strip_code(reply[ends[-1] :]).strip()
    is_long = len(rest.split()) >= 3 or sum("\u4e00" <= letter <= "\u9fff" for letter in rest) >= 4
    return is_long and "\n" not in rest.lstrip("\n")


def find_other_language(texts: TurnTexts) -> Answer:
    """A reply in another script or language than the question, where nobody asked for another one."""
    question, reply = count_scripts(texts.question), count_scripts(texts.reply)
    if question.total() < 2 or reply.total() < 3:
        return UNKNOWN
    of_question, of_reply = question.most_common(1)[0][0], reply.most_common(1)[0][0]
    if reply["kana"] > 0.15 * reply.total():
        of_reply = "kana"
    if question["kana"] > 0.1 * question.total():
        of_question = "kana"
    if of_question == of_reply:
        if of_reply != "latin":
            return NO
        languages = detect_language(texts.question), detect_language(texts.reply)
        if "" in languages or languages[0] == languages[1]:
            return NO
    elif question[of_reply] >= (4 if of_reply == "latin" else 1) and question[of_reply] > 0.1 * question.total():
        return NO  # a question in both
    elif reply[of_question] > 0.45 * reply.total() or (of_question != "latin" and reply[of_question] >= 3):
        return NO
    requests = [texts.question, *(turn.question for turn in texts.earlier)]
    return NO if any(ANOTHER_LANGUAGE.search(request) for request in requests) else build_yes(texts)


def find_other_person(texts: TurnTexts) -> Answer:
    """A reply that addresses somebody else: one who writes to the agent, or anybody by a title and a name."""
    if not texts.reply:
        return NO
    if not texts.senders:
        return UNKNOWN
    if DRAFTS.search(texts.question):
        return UNKNOWN  # the words may be for somebody else
    begin = texts.reply[:160]
    text = f"{begin}\n{texts.reply[-160:]}" if len(texts.reply) > 320 else texts.reply
    own = {part for name in texts.senders for part in split_name(name)}
    titled = {(match[1] or match[2]).casefold() for match in TITLED.finditer(begin)}
    greeted = {match[1].casefold() for match in OPENING.finditer(begin)} - own
    matches = {match[1].casefold() for match in ADDRESS.finditer(text)} - own
    if not (titled or greeted or matches):
        return NO
    given = " ".join(source[:2_000] for turn in (texts, *texts.earlier) for source in turn.list_sources()).casefold()
    if any(name not in given and not any(name in part for part in own) for name in titled):
        return build_yes(texts)
    matches = {name for name in matches if name not in given} | greeted
    people = {part for name in texts.find_people(texts.at) for part in split_name(name)} - own
    question = texts.question.casefold()
    is_addressed = any(_is_name(match, person) and person not in question for match in matches for person in people)
    return build_yes(texts) if is_addressed else NO


def _is_name(text, person):
    """Whether a text is a name, in Chinese also with a title after it, or words."""
    return text == person or (not person.isascii() and text.startswith(person))


def split_name(name: str) -> set[str]:
    """The spellings by which somebody may address a person: the name, and its parts without signs and ids."""
    plain = name.strip().casefold().lstrip("@")
    parts = {plain, *re.split(r"[\s_.,()]+", plain)}
    if "\u4e00" <= plain[:1] <= "\u9fff" and len(plain) == 3:
        parts.add(plain[1:])
    return {part for part in parts if len(part) > 1 and not part.isdecimal()}


def find_machine_text(texts: TurnTexts) -> Answer:
    """Control tokens, a call as JSON, a stack trace or a prompt in the reply, which the person did not bring up."""
    reply = texts.reply
    if '"' in reply and (_is_json_of_call(reply) or INNER_CALL.search(reply)):
        return NO if JSON_REQUEST.search(texts.question) else build_yes(texts)
    match = MACHINE.search(strip_code(reply)) or (reply.startswith("```") and MACHINE.search(reply))
    if not match or JSON_REQUEST.search(texts.question) or match[0].strip() in texts.question:
        return NO
    return build_yes(texts)


def _is_json_of_call(reply):
    text = reply.strip().removeprefix("```json").strip("`\n ")
    if text[:1] not in ("{", "["):
        return False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, dict) and not CALL_KEYS.isdisjoint(part) for part in parts)


def find_repeated_answer(texts: TurnTexts) -> Answer:
    """A reply of before once more, although the question is another one."""
    for turn in reversed(texts.earlier):
        short, long = sorted((len(texts.reply), len(turn.reply)))
        if short < 12 or short < 0.8 * long:
            continue
        own, before = _read_words(texts), _read_words(turn)
        if len(own) < 4 or len(own & before) < 0.88 * len(own | before):
            continue
        question, other = _split_words(texts.question), _split_words(turn.question)
        is_same_question = len(question & other) >= 0.5 * len(question | other)
        return NO if is_same_question or AGAIN.search(texts.question) else build_yes(texts)
    return NO


def _read_words(turn):
    if turn.words is None:
        turn.words = _split_words(turn.reply)
    return turn.words


def _split_words(text):
    return frozenset(re.findall(r"[a-z0-9']+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", text.lower()))
