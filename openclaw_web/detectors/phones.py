"""Finds telephone numbers: by their international form, by national forms, by a word before them."""

import re
from collections.abc import Iterator

from .scan_text import ScanText, compile_pattern, finder
from .spans import PHONE, Span

_INTERNATIONAL = compile_pattern(r"(?:\+|\b00[ -]?)\(?[1-9]\d{0,3}(?:[ .\-/]?\(?\d{1,11}\)?){1,7}")
_LINK = compile_pattern(r"\bwa\.me/\d{8,15}\b|whatsapp\.com/send/?\?phone=\d{8,15}\b")
_MOBILE = compile_pattern(r"\b(?:86[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}\b")
_AMERICAN = compile_pattern(r"(?:\b1[ .-])?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}\b")
_LANDLINE = compile_pattern(
    r"(?:[(（]0\d{2,3}[)）] ?|\b0\d{2,3}[ -])\d{3,4}[ -]?\d{4}\b|\b[48]00[ -]?(?:\d{3}[ -]?\d{4}|\d{4}[ -]?\d{3})\b"
)
_NOUNS = (
    r"phone|\bt(?:e|é)l\b|telefon|tel(?:e|é)fono|mobil|portable|cellulare|\bmob\b|\bhandy|\bcell\b|cellphone|whatsapp|\bfax|\bsms\b|msisdn|"
    r"\b(?:my|mon|mi|meine|neue) (?:number|numéro|número|nummer)|"
    r"landline|direct line|notfall|emergency|sekretariat|zentrale|praxis|hotline|festnetz|rückruf|durchwahl|"
    r"\bph\b|\bm(?:ó|o)vil|rufnummer|电话|電話|手机|手機|携帯|座机|热线|传真|联系方式"
)
_VERBS = (
    r"\bcall(?:ed|ing)?\b|\bring\b|\btext(?:ed)?\b|\breach|\bcontact|\bdial|\bruft?\b|anrufen|erreich|\bmelde|\bappel|"
    r"\bjoi(?:ndre|gnable)|\bll[aá]m|致电|拨打|拨"
)
_NAMED = compile_pattern(rf"(?i)(?:{_NOUNS}|{_VERBS})[^\d\n]{{0,24}}\(?\d[\d .()/-]{{5,20}}\d")
_NUMBER = re.compile(r"\(?\d[\d .()/-]*\d\Z")
_CODE = re.compile(r"[=\"'(\[\x01]")
# With the zero of a long-distance call: 9 to 12 digits in groups, none of them a date, price or address.
_NATIONAL = re.compile(r"\(?0[1-9]\d{0,4}\)?(?:[ /-]| / | - )?\d{2,9}(?:[ -]\d{1,8}){0,4}")
_NOUN = re.compile(rf"(?i){_NOUNS}")
_GAP = r"[\s:：=.\"'’“”()（\[*|-]*"
_BETWEEN = re.compile(
    rf"(?i)[^\s\d]{{0,12}}?{_GAP}(?:(?:s|numbers?|no|nr|num|is|was|me|us|him|her|them|at|on|to|under|my|our|the|are|line|"
    rf"direct|dm|ist|war|lautet|unter|mich|uns|an|auf|jetzt|au|le|es|est|al|a|en|tu|bei|von|der|die|号码?|是|为|我|在|的|打|改成|也是|还是)(?![a-z]){_GAP}){{0,6}}"
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
# A number that begins like a date, is a fraction, or holds a date, an address of IPv4 or a gap of a table.
_DATE = re.compile(
    r"(?:19|20)\d\d(?:[-./ ]\d{1,2}\b.*|\d{4})|\d+\.\d+|(?:.*\D)?(?:19|20)\d\d-\d\d-\d\d(?:\D.*)?|"
    r"(?:.*[^\d.])?\d{1,3}(?:\.\d{1,3}){3}(?:[^\d.].*)?|"
    r".*  .*|[0-3]?\d\.[01]?\d\.(?:(?:19|20)\d\d\b.*|\d\d\Z)|(?:(?:19|20)\d\d[ ,]+){2}.*"
)
_SHORTER = re.compile(r".*\d(?=[^\d]+\d+\)?\Z)")
_TOUCHING_BEFORE = re.compile(r"[A-Za-z0-9_+#]\Z|[A-Za-z0-9][-./]\Z|/\Z")
_TOUCHING_AFTER = re.compile(r"[A-Za-z0-9_@]|[-./:][A-Za-z0-9]")
_SCHEME = re.compile(r"(?:tel:|wa\.me/|phone=|sms:)\Z", re.IGNORECASE)
STEPS_OF_NAMED = 22  # of a number after a word that no shape found, besides those of its match
_NEAR, _CLOSE = 60, 24  # characters before and after in which words are looked for
# Digits after the code of the country, for those whose length is known; others have 6 to 12.
LENGTHS = {
    code: bounds
    for bounds, codes in {
        (6, 11): "39 358",
        (6, 12): "49",
        (7, 8): "372",
        (7, 9): "353",
        (7, 10): "46",
        (7, 12): "43",
        (8, 8): "852 853 65 45 47 370 371",
        (8, 9): "886 66 32 971 972 36 359 385 381 51",
        (8, 10): "82 60 84 63 64 234",
        (8, 12): "62",
        (9, 9): "61 33 34 41 31 48 351 966 27 254 40 420 380 56 93 94",
        (9, 10): "44 81 92 20",
        (10, 10): "1 91 7 52 90 30 57 58 98",
        (10, 11): "86 55 54",
    }.items()
    for code in codes.split()
}
# Codes of countries; none begins another one.
_COUNTRY = re.compile(
    r"[17]|2[078]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|21[12368]|2[2346]\d|25[0-8]|29[01789]|35\d|37\d|"
    r"38[0-35-79]|42[013]|50\d|59\d|67\d|68\d|69[0-2]|80[08]|85[02356]|87[0-8]|88[0-368]|96\d|97\d|99[2-8]"
)
LONGEST = (6, 12)


@finder(_INTERNATIONAL, _LINK, _MOBILE, _AMERICAN, _LANDLINE, _NAMED)
def find_phones(scan: ScanText) -> Iterator[Span]:
    """Yield telephone numbers; shapes that other numbers have as well need a word near by."""
    starts = {}  # of the numbers by their shape, by their ends
    for span in _find_shapes(scan):
        starts[span.end] = span.start
        yield span
    for start, end in scan.find(_NAMED):
        place = _NUMBER.search(scan.text, start, end).start()
        if starts.get(end, end) > place:
            scan.budget.spend(STEPS_OF_NAMED)
            if span := _judge_named(scan, start, place, end):
                yield span


def _find_shapes(scan):
    for start, end in scan.find(_INTERNATIONAL):
        if stop := _find_international_end(scan, start, end):
            is_opened = scan.text[start - 1 : start] == "(" and ")" in scan.text[start : start + 5]
            yield Span(start - is_opened, stop, PHONE, "international", 0.9)
    for start, end in scan.find(_LINK):
        link = scan.text[start:end]
        yield Span(start + link.index("=" if "=" in link else "/") + 1, end, PHONE, "link")
    for start, end in scan.find(_MOBILE):
        if confidence := _judge_mobile(scan, start, end):
            yield Span(start, end, PHONE, "cn-mobile", confidence)
    for start, end in scan.find(_AMERICAN):
        if _is_american(scan, start, end):
            yield Span(start, end, PHONE, "nanp", 0.8)
    for start, end in scan.find(_LANDLINE):
        if _is_alone(scan.text, start, end) and _has_word(scan, start, end) and not _is_other(scan, start, end):
            yield Span(start, end, PHONE, "cn-landline", 0.8)


def _find_international_end(scan, start, end):
    """The end of an international number, by the digits of its country; None for no number."""
    text = scan.text
    if re.search(r"[\w+./-]\Z|[0-9]:\Z", text[max(0, start - 2) : start], re.ASCII) and not _SCHEME.search(
        text[max(0, start - 8) : start]
    ):
        return None
    if text.count(")", start, end) > text.count("(", start, end) and text[end - 1] == ")":
        end -= 1
    while end - start >= 8:
        digits = re.sub(r"\D", "", text[start:end].replace("(0)", ""))
        if text[end - 1] != "(" and _is_international(digits.removeprefix("00") if text[start] == "0" else digits):
            # A plus and few digits in one group are a difference, unless a word is near.
            is_clear = text[start] == "+" and (end - start >= 11 or not text[start + 1 : end].isdigit())
            return end if _is_alone_after(text, end) and (is_clear or _has_word(scan, start, end)) else None
        if not (shorter := _SHORTER.match(text, start, end)):
            return None
        end = shorter.end()
    return None


def _is_international(digits):
    country = _COUNTRY.match(digits)
    if not country:
        return False
    code, rest = country[0], digits[country.end() :]
    if code == "1" and not re.fullmatch(r"[2-9]\d{2}[2-9]\d{6}", rest):
        return False
    least, most = LENGTHS.get(code, LONGEST)
    return least <= len(rest) <= most and len(set(rest)) > 1


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


def _judge_named(scan, start, place, end):
    """The number at a place after a word for a telephone, as long as it can be one."""
    text = scan.text
    noun = _NOUN.match(text, start)
    is_national = bool(_NATIONAL.fullmatch(text, place, end)) and 9 <= sum(map(str.isdigit, text[place:end])) <= 12
    is_between = is_national or _BETWEEN.fullmatch(text, noun.end() if noun else start, place)
    if not is_between or not _is_alone(text, place, end):
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
    return not scan.has_near(_WORD, start - _NEAR_WORD, start) and scan.ends_with(_NOT_WORD, start, _CLOSE)


def _is_alone(text, start, end):
    if not _is_alone_after(text, end):
        return False
    return not _TOUCHING_BEFORE.search(text, max(0, start - 2), start) or bool(
        _SCHEME.search(text, max(0, start - 8), start)
    )


def _is_alone_after(text, end):
    return not _TOUCHING_AFTER.match(text, end, end + 2)
