"""Signals that the reply alone answers, or the reply beside its question: empty, cut off, in another language, …"""

import re

import orjson

from ledger.collectors.answers import CUT_STOPS

from ..models import CUT_OFF, INTERRUPTED
from .languages import count_scripts, detect_language, strip_code
from .signal import NO, NOT_YET, UNKNOWN, Answer, build_yes
from .turn_texts import TurnTexts

DONE = re.compile(
    r"(?i)(?:all )?(?:done|finished|completed?|ready|checked|noted|ok(?:ay)?|got it|sure|saved)|好的?|收到|"
    r"已?(?:经)?(?:完成|好|搞定|处理|查看|检查|记下)(?:了|完毕|好了)?|搞定"
)
ASKS = re.compile(
    r"[?？]|[吗呢](?=[\s，,。！!]|$)|(?i:\b(?:which|what|how|why|when|where|who)\b)|多少|哪|几|什么|原因|怎么|为什么|"
    r"谁|多久|是不是|有没有"
)
YES_NO = re.compile(
    r"(?i)\b(?:is|are|was|were|do|does|did|can|could|should|shall|will|would|has|have|had)\b[^.]*\?|吗|[对是]吧|是不是|有没有"
)
YES_OR_NO = re.compile(r"(?i)yes|yep|no|nope|right|correct|对的?|是的?|不是|没有|有|会|不会")
SHORT = 1_500  # characters
NO_WORDS = re.compile(r"[\W_]+")
# Confirmations and promises, longer ones first; a reply of nothing else has no answer.
ACKNOWLEDGED = re.compile(
    r"(?i)\b(?:sure thing|sure|certainly|absolutely|of course|got it|noted|understood|i see|i understand|hmm+|right|"
    r"alright|(?:what a |that's a )?(?:great|good|excellent) (?:question|point|idea)|great|interesting|yes|yep|"
    r"ok(?:ay)?|no problem|will do|on it|(?:one|just a|a) (?:moment|sec\w*)|please (?:wait|hold on)|hold on|hang on|"
    r"working on (?:it|this|that)|get back to you|i'm|i am|and|then|just|(?:i(?:'ll| will)|let me) (?:look|get|check|"
    r"see|try|work|think|dig|find|pull|figure)(?: (?:in)?to| on| up| out| about)?(?: it| that| this)?(?: out|"
    r" up)?(?: for you)?|thanks?(?: you)?(?: for \w+(?: me)?(?: know)?)?|happy to help|i(?:'m| am) here(?: to help)?|"
    r"how can i help(?: you)?(?: today)?|here you go|now|soon|it depends|maybe|perhaps|n a|none|null|undefined|todo|"
    r"tbd|lorem ipsum)\b|很高兴(?:能)?[帮为][您你](?:服务|忙)?|有什么(?:可以|能)帮[您你]的?|"
    r"(?:这是?)?(?:一?个)?很?好问题|我?知道了|我?[来去先]?(?:[帮给为][您你])?(?:看看|看一下|查一下|查查|试试|"
    r"处理一?下?|想想)|正在(?:处理|查询?)中?|请?稍[等候](?:一下|片刻)?|没问题|当然可?以?|明白了?|了解了?|可以的?|马上|"
    r"这就|稍后|[待等]会儿?|等一?下|回[复头]|答复|告诉|再|谢谢|不客气|收到|好的?|嗯|哦|噢|啊|呃|哈|行|是的?|对|已阅|"
    r"暂?无|[您你]好|[吧呢了的来我您你]"
)
NEEDS_NO_ANSWER = re.compile(
    r"(?i)\W*(?:don'?t (?:reply|answer)|no need|ok(?:ay)?|thanks?(?: you)?|thx|great|nice|cool|good (?:night|job)|"
    r"perfect|bye|got it|hi|hello|hey|yes|no|remember|note|keep in mind|fyi|just so you know|from now on|never|always|"
    r"please (?:remember|note|wait|remind)|remind|(?:i|we|my|our)\b(?! need| want|['’]d like| would like)(?!.*\?)|谢|"
    r"好的|好|嗯|知道了|收到|辛苦|晚安|拜拜|再见|你好|记住|记一下|请记|帮我记|以后|提醒|从现在|我(?!.*[吗?？么]))"
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
    r"[\u4e00-\u9fff·]{1,4}[A-Za-z]{0,8})\s*(?=[,，:：.。!！?？~～\n]|$|[\u2600-\u27bf\U0001f300-\U0001faff]|你好|"
    r"您好|早上好|晚上好)"
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
    if not reply and texts.next_question is None:
        return NOT_YET
    if len(reply) > 200:
        return NO
    words = NO_WORDS.sub(" ", reply.replace("'", "\0").replace("’", "\0")).replace("\0", "'").strip()
    is_remark = len(texts.question) < 60 and not ASKS.search(texts.question)
    if is_remark and ((reply and not words) or (texts.calls and DONE.fullmatch(words))):
        return NO
    if not words:
        return build_yes(texts)
    if YES_OR_NO.fullmatch(words) and YES_NO.search(texts.question):
        return NO
    is_empty = not ACKNOWLEDGED.sub("", words).strip() or (DONE.fullmatch(words) and ASKS.search(texts.question))
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
    begin = texts.reply[:160]
    given = " ".join([texts.question, *(str(value)[:500] for call in texts.calls for value in call.arguments.values())])
    own = {part for name in texts.senders for part in split_name(name)}
    for match in TITLED.finditer(begin):
        name = (match[1] or match[2]).casefold()
        if not any(name in part for part in own) and name not in given.casefold():
            return build_yes(texts)
    text = f"{begin}\n{texts.reply[-160:]}" if len(texts.reply) > 320 else texts.reply
    matches = {match[1].casefold() for pattern in (ADDRESS, OPENING) for match in pattern.finditer(text)} - own
    if not matches:
        return NO
    people = {part for name in texts.find_people(texts.at) for part in split_name(name)} - own
    return build_yes(texts) if any(name in people and name not in given.casefold() for name in matches) else NO


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
