"""Finds telephone numbers: by their international form, by national forms, by a word before them."""

import re
from collections.abc import Iterator

from .scan_text import ScanText, compile_pattern
from .spans import PHONE, Span

_INTERNATIONAL = compile_pattern(r"(?:\+|\b00[ -]?)\(?[1-9]\d{0,3}(?:[ .\-/]?\(?\d{1,11}\)?){1,7}")
_LINK = compile_pattern(r"\bwa\.me/\d{8,15}\b|whatsapp\.com/send/?\?phone=\d{8,15}\b")
_MOBILE = compile_pattern(r"\b(?:86[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}\b")
_AMERICAN = compile_pattern(r"(?:\b1[ .-])?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}\b")
_LANDLINE = compile_pattern(
    r"(?:[(（]0\d{2,3}[)）] ?|\b0\d{2,3}[ -])\d{3,4}[ -]?\d{4}\b|\b[48]00[ -]?(?:\d{3}[ -]?\d{4}|\d{4}[ -]?\d{3})\b"
)
_NOUNS = (
    r"phone|\bt(?:e|é)l\b|telefon|tel(?:e|é)fono|telefone|mobile|mobil|portable|cellulare|\bmob\b|\bhandy|\bcell\b|cellphone|whatsapp|\bfax|\bsms\b|msisdn|"
    r"\bmy number|\bph\b|\bm(?:ó|o)vil|rufnummer|电话|電話|手机|手機|携帯|座机|热线|传真|联系方式"
)
_VERBS = r"\bcall(?:ed|ing)?\b|\bring\b|\btext(?:ed)?\b|\breach|\bcontact|\bdial|致电|拨打|拨"
_NAMED = compile_pattern(rf"(?i)(?:{_NOUNS}|{_VERBS})[^\d\n]{{0,24}}\(?\d[\d .()/-]{{5,20}}\d")
_NUMBER = re.compile(r"\(?\d[\d .()/-]*\d\Z")
_CODE = re.compile(r"[=\"'(\[]")
_NOUN = re.compile(rf"(?i){_NOUNS}")
_GAP = r"[\s:：=.\"'’“”()（\[*|-]*"
_BETWEEN = re.compile(
    rf"(?i)[^\s\d]{{0,12}}?{_GAP}(?:(?:s|numbers?|no|nr|num|is|was|me|us|him|her|them|at|on|to|under|my|our|the|are|line|"
    rf"direct|dm|号码?|是|为|我|在|的|打|改成|也是|还是)(?![a-z]){_GAP}){{0,6}}"
)
_WORD = compile_pattern(rf"(?i){_NOUNS}|{_VERBS}|recipient|打|联系|微信|短信|客服|收件人|号码|师傅|快递员|加我")
_NEAR_WORD = 16  # a word this near before a number is stronger than _NOT_WORD
_NOT_WORD = re.compile(
    r"(?i)(?:bytes?|size|offset|length|line|row|page|seq|port|pid|count|total|number of|version|build|order|ticket|"
    r"invoice|serial|isbn|sku|ref|timestamp|created|updated|date|time|epoch|amount|price|range|chars|tokens?|(?<![a-z])(?:ids?|ts)|"
    r"[a-z]_id|[a-z]Id|字节|大小|行|条|编号|单号|订单号?|运单|流水号?|序列号?|批次|合同|发票|端口|版本|耗时|时间戳?|金额|"
    r"数量|共|第|群|工号|学号|用户)[号\"'”）)]{0,3}[\s:：=#.]{0,4}[\"'(（]?\Z"
)
_UNIT = re.compile(
    r"(?i)\s{0,2}(?:bytes?|kb|mb|gb|ms|µs|ns|sec(?:onds)?|rows?|lines?|tokens?|chars?|times|users|px|usd|字节|毫秒|秒|条|行|人|"
    r"元|个|次|名|%|美元)(?![a-z])"
)
_COUNTING = ("0123456789", "1234567890", "123456789")
_CJK = re.compile(r"[一-鿿]")
_DATE = re.compile(r"(?:19|20)\d\d(?:[-./ ]\d{1,2}\b.*|\d{4})|\d+\.\d+")
_SHORTER = re.compile(r".*\d(?=[^\d]+\d+\)?\Z)")
_TOUCHING_BEFORE = re.compile(r"[A-Za-z0-9_+#]\Z|[A-Za-z0-9][-./]\Z|/\Z")
_TOUCHING_AFTER = re.compile(r"[A-Za-z0-9_@]|[-./:][A-Za-z0-9]")
_SCHEME = re.compile(r"(?:tel:|wa\.me/|phone=|sms:)\Z", re.IGNORECASE)
_NEAR, _CLOSE = 60, 24  # characters before and after in which words are looked for
# Digits after the code of the country, for those whose length is known; others have 6 to 12.
LENGTHS = {
    "1": (10, 10),
    "86": (10, 11),
    "44": (9, 10),
    "852": (8, 8),
    "853": (8, 8),
    "886": (8, 9),
    "81": (9, 10),
    "82": (8, 10),
    "65": (8, 8),
    "60": (8, 10),
    "66": (8, 9),
    "84": (8, 10),
    "62": (8, 12),
    "63": (8, 10),
    "91": (10, 10),
    "92": (9, 10),
    "61": (9, 9),
    "64": (8, 10),
    "49": (6, 12),
    "33": (9, 9),
    "34": (9, 9),
    "39": (6, 11),
    "41": (9, 9),
    "43": (7, 12),
    "31": (9, 9),
    "32": (8, 9),
    "45": (8, 8),
    "46": (7, 10),
    "47": (8, 8),
    "48": (9, 9),
    "351": (9, 9),
    "353": (7, 9),
    "7": (10, 10),
    "55": (10, 11),
    "52": (10, 10),
    "54": (10, 11),
    "90": (10, 10),
    "971": (8, 9),
    "972": (8, 9),
    "966": (9, 9),
    "20": (9, 10),
    "27": (9, 9),
    "234": (8, 10),
    "254": (9, 9),
    "30": (10, 10),
    "36": (8, 9),
    "40": (9, 9),
    "420": (9, 9),
    "358": (6, 11),
    "370": (8, 8),
    "371": (8, 8),
    "372": (7, 8),
    "380": (9, 9),
    "359": (8, 9),
    "385": (8, 9),
    "381": (8, 9),
    "51": (8, 9),
    "56": (9, 9),
    "57": (10, 10),
    "58": (10, 10),
    "93": (9, 9),
    "94": (9, 9),
    "98": (10, 10),
}
_LONG_CODE = re.compile(
    r"21[12368]|2[2346]\d|25[0-8]|29[01789]|35\d|37\d|38[0-35-79]|42[013]|50\d|59\d|67\d|68\d|69[0-2]|80[08]|85[02356]|"
    r"87[0-8]|88[0-368]|96\d|97\d|99[2-8]"
)
LONGEST = (6, 12)
SHORT_CODES = frozenset(
    """
    20 27 28 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82
    84 86 89 90 91 92 93 94 95 98
    """.split()  # noqa: SIM905
)


def find_phones(scan: ScanText) -> Iterator[Span]:
    """Yield telephone numbers; shapes that other numbers have as well need a word near by."""
    for start, end in scan.find(_INTERNATIONAL):
        if stop := _find_international_end(scan, start, end):
            is_opened = scan.text[start - 1 : start] == "(" and ")" in scan.text[start : start + 5]
            yield Span(start - is_opened, stop, PHONE, "international", 0.9)
    for start, end in scan.find(_LINK):
        yield Span(
            start + scan.text[start:end].index("=" if "=" in scan.text[start:end] else "/") + 1, end, PHONE, "link"
        )
    for start, end in scan.find(_MOBILE):
        if confidence := _judge_mobile(scan, start, end):
            yield Span(start, end, PHONE, "cn-mobile", confidence)
    for start, end in scan.find(_AMERICAN):
        if _is_american(scan, start, end):
            yield Span(start, end, PHONE, "nanp", 0.8)
    for start, end in scan.find(_LANDLINE):
        if _is_alone(scan.text, start, end) and _has_word(scan, start, end) and not _is_other(scan, start, end):
            yield Span(start, end, PHONE, "cn-landline", 0.8)
    for start, end in scan.find(_NAMED):
        if span := _judge_named(scan, start, end):
            yield span


def _find_international_end(scan, start, end):
    """The end of an international number, by the digits of its country; None for no number."""
    text = scan.text
    if re.search(r"[\w+./-]\Z|[0-9]:\Z", text[max(0, start - 2) : start], re.ASCII) and not _SCHEME.search(
        text[max(0, start - 8) : start]
    ):
        return None
    if text[max(0, start - 1) : start] == ":" and not _has_word(scan, start, end):
        return None
    while end - start >= 8:
        digits = re.sub(r"\D", "", text[start:end].replace("(0)", ""))
        if text[end - 1] != "(" and _is_international(digits.removeprefix("00") if text[start] == "0" else digits):
            is_number = _is_alone_after(text, end) and not _is_difference(scan, start, end)
            return end if is_number and (text[start] == "+" or _has_word(scan, start, end)) else None
        if not (shorter := _SHORTER.match(text, start, end)):
            return None
        end = shorter.end()
    return None


def _is_international(digits):
    code = digits[:1] if digits[:1] in ("1", "7") else digits[:2] if digits[:2] in SHORT_CODES else digits[:3]
    rest = digits[len(code) :]
    if len(code) == 3 and not _LONG_CODE.fullmatch(code):
        return False
    if code == "1" and not re.fullmatch(r"[2-9]\d{2}[2-9]\d{6}", rest):
        return False
    least, most = LENGTHS.get(code, LONGEST)
    return least <= len(rest) <= most and len(set(rest)) > 1


def _is_difference(scan, start, end):
    """Whether a plus and few digits in one group are a difference; no word is near."""
    return scan.text[start + 1 : end].isdigit() and end - start < 11 and not _has_word(scan, start, end)


def _judge_mobile(scan, start, end):
    """The confidence in a mobile number of China; 0 for none."""
    text = scan.text
    if not _is_alone(text, start, end) or _is_other(scan, start, end):
        return 0
    if _has_word(scan, start, end):
        return 0.95
    if not text[start:end].isdigit():
        return 0.85
    return 0.6 if _CJK.search(text, max(0, start - 12), start) or _CJK.search(text, end, end + 12) else 0


def _is_american(scan, start, end):
    number = scan.text[start:end]
    if not _is_alone(scan.text, start, end) or _is_other(scan, start, end):
        return False
    return "(" in number or _has_word(scan, start, end) or (number.count("-") >= 2 and "." not in number)


def _judge_named(scan, start, end):
    """The number after a word for a telephone, as long as it can be one."""
    text = scan.text
    place = _NUMBER.search(text, start, end).start()
    noun = _NOUN.match(text, start)
    if not _BETWEEN.fullmatch(text, noun.end() if noun else start, place) or not _is_alone(text, place, end):
        return None
    if _UNIT.match(text, end) or _NOT_WORD.search(text, max(0, place - 8), place):
        return None
    if not noun and _CODE.search(text, start, place):
        return None
    while end > place:
        number = text[place:end]
        digits = re.sub(r"\D", "", number)
        is_whole = len(digits) <= 12 or (noun and number.isdigit() and _is_international(digits))
        if is_whole and number.count("(") == number.count(")"):
            return Span(place, end, PHONE, "named-number", 0.7) if _is_named(number, digits, bool(noun)) else None
        if not (shorter := _SHORTER.match(text, place, end)):
            return None
        end = shorter.end()
    return None


def _is_named(number, digits, is_noun):
    if len(digits) < 7 or len(set(digits)) < 3 or digits in _COUNTING or _DATE.fullmatch(number):
        return False
    return is_noun or len(digits) >= 10 or digits[0] == "0" or len(digits) < len(number)


def _has_word(scan, start, end):
    return scan.has_near(_WORD, start - _NEAR, start) or scan.has_near(_WORD, end, end + _CLOSE)


def _is_other(scan, start, end):
    """Whether a word before or a unit after says that a number is something else."""
    if _UNIT.match(scan.text, end):
        return True
    is_other = bool(_NOT_WORD.search(scan.text, max(0, start - _CLOSE), start))
    return is_other and not scan.has_near(_WORD, start - _NEAR_WORD, start)


def _is_alone(text, start, end):
    if not _is_alone_after(text, end):
        return False
    return not _TOUCHING_BEFORE.search(text, max(0, start - 2), start) or bool(
        _SCHEME.search(text, max(0, start - 8), start)
    )


def _is_alone_after(text, end):
    return not _TOUCHING_AFTER.match(text, end, end + 2)
