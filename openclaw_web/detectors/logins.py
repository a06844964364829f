"""Finds one-time codes, cookies of sessions, signed addresses, and passwords beside their users."""

import re
from collections.abc import Iterator

from .placeholders import MIXED, is_password, is_strong
from .scan_text import ScanText, compile_pattern, finder
from .spans import PASSWORD, SECRET, Span
from .value_bounds import narrow_value

_GAP = (
    r"[\"'”」)\]]{0,2}(?:[ \t](?:for|to|für|zum|zur|pour|para)[ \t][A-Za-zÀ-ɏ -]{1,30}?)?"
    r"[ \t]{0,3}(?:is|was|are|ist|war|lautet|est|es|为|是|為)?"
    r"[ \t]{0,3}[:：=\x01]?[ \t]{0,3}[\"'“「【\[(（]?"
)
_DIGITS = r"(?:\d{3}[ -]\d{3}|\d{4,8})"
_CODE_VALUE = rf"(?:{_DIGITS}|(?-i:[A-Z0-9]{{3}}-[A-Z0-9]{{3}}))"
_CODE = compile_pattern(
    r"(?i)(?:\b(?:(?:verification|security|confirmation|authentication|auth|login|sign-?in|one[ -]?time|2fa|mfa|"
    r"sms|otp|"
    r"activation)[ _-]?(?:code|passcode|pin|password)|otp|[mi]?tan|passcode)|"
    r"(?:bestätigungs|sicherheits|anmelde|freischalt|verifizierungs|einmal)(?:code|passwort)|"
    r"\bcode de (?:vérification|sécurité|confirmation)|\bcódigo de (?:verificación|seguridad|confirmación)|"
    r"验证码|驗證碼|校验码|动态码|动态密码|动态口令|短信码|認証番号|"
    r"認証コード|確認コード)"
    rf"{_GAP}{_CODE_VALUE}\b|"
    rf"\b(?:your|deine?|ihre?|votre|ton|su|tu)[ ](?:[a-z0-9-]{{2,14}}[ ]){{0,2}}(?:code|código){_GAP}{_CODE_VALUE}\b|"
    rf"\b(?:use|enter|type)[ ](?:the[ ])?(?:code|otp|pin|passcode)[ ]{_CODE_VALUE}"
    r"[^\n]{0,24}(?:verif|sign|log ?in|confirm|authent)|"
    rf"\b(?:verify|authenticate|log in|sign in)[ ]with[ ]{_CODE_VALUE}\b"
)
_ONE_TIME = re.compile(rf"{_CODE_VALUE}\b")
_DIGIT = re.compile(r"\d")
_OTHER_CODE = re.compile(
    r"(?i)(?:order|promo|discount|coupon|gift|voucher|zip|postal|post|area|country|error|exit|status|product|booking|"
    r"invite|referral|tracking|reference|color|colour|source)[ -]?code|\b(?:enter|use|type)[ ]otp[ ]for"
)
_CODE_FIRST = compile_pattern(
    rf"(?i)\b{_DIGITS}[ \t]{{0,2}}(?:is|为|是)[ \t]{{0,2}}(?:your|the|您|你)[^\n\d.。]{{0,40}}?(?:code|\botp|"
    rf"验证码|校验码)|\b\d{{4,8}}[ \t]{{0,2}}[（(【][^\n\d()（）]{{0,12}}(?:验证码|校验码)"
)
_BRAND_CODE = compile_pattern(
    r"(?i)\b(?:apple id|apple account|google|microsoft|telegram|whatsapp|signal|paypal|discord|steam|amazon)[ ]"
    r"code(?:[ ]is:?|:)[ \t]{1,2}\d{3}[ -]?\d{3}\b"
)
_RECOVERY = compile_pattern(
    rf"(?i)(?:\b(?:recovery|backup)[ _-]codes?|恢复码|备用码){_GAP}(?:[a-z0-9]{{4,8}}-){{1,5}}[a-z0-9]{{4,8}}\b|"
    rf"(?:\brecovery[ _-]key|恢复密钥){_GAP}(?:[a-z0-9]{{4,8}}[ -]){{5,13}}[a-z0-9]{{4,8}}\b"
)
_CARD_CODE = compile_pattern(rf"(?i)(?:\bcv[vc]2?|\bsecurity code|安全码){_GAP}\d{{3,4}}\b")
_VALUE = re.compile(
    rf"(?i)(?:{_DIGITS}|\d{{3}}|(?:[a-z0-9]{{4,8}}[ -]){{5,13}}[a-z0-9]{{4,8}}|"
    r"(?:[a-z0-9]{4,8}-){1,5}[a-z0-9]{4,8}|[a-z0-9]{3}-[a-z0-9]{3})\Z"
)
# Further codes of a list, numbered or not.
_NEXT_CODE = re.compile(r"(?i)(?:[\s,;|*]|\d{1,2}[.)]){1,6}((?:[a-z0-9]{4,8}-){1,5}[a-z0-9]{4,8})\b")
MOST_CODES = 20
_COOKIE = compile_pattern(r"(?i)\bcookie['\"]?[ \t]{0,3}[:=\x01]|--cookie[ \t=]|[ \t]-b[ \t]+['\"]?[\w.-]{1,40}=")
_SESSION = re.compile(r"(?i)[\w.-]{0,40}(?:sess|sid|auth|token|jwt|remember)[\w.-]{0,20}=([^;\s\"',]{16,})")
MOST_COOKIE_CHARS = 400
_SIGNED = compile_pattern(r"(?i)[?&](?:sig|signature|x-(?:amz|goog)-signature)=[A-Za-z0-9%+/_-]{40,}=?")
_LOGIN = compile_pattern(
    r"(?i)(?:\b(?:creds?|credentials?|logins?|username ?/ ?password|user ?/ ?pass(?:word)?)\b|账号密码|账密|"
    r"用户名/?密码)"
    r"[^\n/|:：,]{0,20}[:：]?[ \t]*[A-Za-z0-9_.@+-]{2,40}[ \t]*(?:/|\||:|：|,|，)[ \t]*[!#-&(-.0-_a-~]{6,64}"
)
_NAMED_CODE = re.compile(r"(?i)\bcodes?[ \t]*[:：,，][ \t]*\Z")
_LAST = re.compile(r"[!#-&(-.0-9;-_a-~]{6,64}\Z")
_PIPED = compile_pattern(
    r"\becho[ \t]+(?:-n[ \t]+)?['\"]?[^\s'\"|]{4,100}['\"]?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-S|chpasswd)|chpasswd|"
    r"passwd[ \t]+--stdin|(?:docker|podman|helm)[^\n|]{1,80}--password-stdin)"
)
_ECHOED = re.compile(r"echo[ \t]+(?:-n[ \t]+)?['\"]?(?:[a-z_][\w-]{0,31}:(?=[^\n|]*chpasswd))?([^\s'\"|]+)")


@finder(_CODE, _BRAND_CODE, _RECOVERY, _CARD_CODE, _CODE_FIRST, _COOKIE, _SIGNED, _LOGIN, _PIPED)
def find_logins(text: ScanText) -> Iterator[Span]:
    """Yield codes, sessions and signatures, and passwords that stand after a user or before a pipe."""
    yield from _find_codes(text)
    yield from _find_sessions(text)
    for start, end in text.find(_LOGIN):
        if span := _judge_login(text.text, start, end):
            yield span
    for start, end in text.find(_PIPED, b"echo"):
        value = _ECHOED.match(text.text, start, end)
        if is_password(value[1], True, True):
            yield Span(*value.span(1), PASSWORD, "piped-password", 0.8)


def _find_codes(text):
    for start, end in text.find(_CODE):
        values = [match for match in _ONE_TIME.finditer(text.text, start, end) if _DIGIT.search(match[0])]
        if values and not _OTHER_CODE.search(text.text, start, end):
            yield Span(*values[-1].span(), SECRET, "one-time-code", 0.8)
    for pattern, rule in ((_BRAND_CODE, "one-time-code"), (_RECOVERY, "recovery-code"), (_CARD_CODE, "card-code")):
        for start, end in text.find(pattern):
            value = _VALUE.search(text.text, start, end)
            for _number in range(MOST_CODES):
                if not value or not _DIGIT.search(value[0]) or _is_prose(value[0]):
                    break
                yield Span(*value.span(value.lastindex or 0), SECRET, rule, 0.8)
                value = _NEXT_CODE.match(text.text, value.end()) if pattern is _RECOVERY else None
    for start, end in text.find(_CODE_FIRST):
        value = re.match(_DIGITS, text.text[start:end])
        yield Span(start, start + value.end(), SECRET, "one-time-code", 0.8)


def _is_prose(value):
    """Whether most of several groups are words of small letters."""
    groups = value.split()
    return sum(group.islower() and group.isalpha() for group in groups) > len(groups) / 2


def _find_sessions(text):
    place = 0
    for start, _end in text.find(_COOKIE):
        if start < place:
            continue
        place = start + MOST_COOKIE_CHARS
        stop = text.text.find("\n", start, start + MOST_COOKIE_CHARS)
        for session in _SESSION.finditer(text.text, start, stop if stop >= 0 else start + MOST_COOKIE_CHARS):
            if is_strong(session[1]):
                yield Span(*session.span(1), SECRET, "session-cookie", 0.8)
    for start, end in text.find(_SIGNED, b"="):
        yield Span(text.text.index("=", start) + 1, end, SECRET, "signed-address", 0.8)


def _judge_login(text, start, end):
    value = _LAST.search(text, start, end)
    if not value or _NAMED_CODE.search(text, start, value.start()):
        return None
    value_start, value_end = narrow_value(text, start, *value.span(), False)
    value = text[value_start:value_end]
    if len(value) < 6 or not MIXED.match(value) or not is_password(value, False):
        return None
    return Span(value_start, value_end, PASSWORD, "login-password", 0.7)
