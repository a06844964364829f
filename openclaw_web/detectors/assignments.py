"""Finds values that a name or sentence calls a password, token, secret or key."""

import re
from collections.abc import Iterator
from string import ascii_letters, digits

from .json_layers import KEY_BREAK
from .placeholders import DIGIT_AND_LETTER, MIXED, UUID, is_password, is_strong, is_worded_secret
from .scan_text import ScanText, compile_pattern, finder
from .spans import PASSWORD, SECRET, Span
from .value_bounds import find_value, narrow_value
from .value_names import find_kind

_NAME = (
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|\bpass\b|_pass\b|kennwort|contrase(?:ñ|n)a|"
    r"mot de passe|\bclave\b|zugangscode|\bsenha\b|wachtwoord|пароль|비밀번호|\bpw\b|"
    r"secret|token|api[ _.-]?key|(?:access|auth|private|encryption|signing|master|account|app|service|client|storage|"
    r"subscription|shared|license|deploy|admin|aes|secret|hmac|consumer|recovery|cookie|webhook|bot|integration|ingest|"
    r"write|wi-?fi|openai|anthropic|gemini|deepseek|stripe|weather|maps)[ _.-]?key|(?-i:[A-Z]_KEY)\b|credential|"
    r"authorization|_auth\b|(?:\b|_)(?:PIN|PUK|PSK)\b|"
    r"(?:api|zugriffs|geheim)[ -]?schlüssel|clé (?:api|secrète)|clave (?:de )?api|"
    r"提取码|动态口令|密码|密碼|口令|暗号|密钥|密鑰|秘钥|令牌|凭证|パスワード)"
)
_ABOUT = (
    r"(?:[ \t]+(?:for|of|to|on|at|in|für|fürs|von|vom|zum|zur|im|am|de|del|du|para|pour|della?)[ \t]"
    r"[A-Za-zÀ-ɏ0-9 _.@'/-]{1,40}?|"
    r"[ \t](?:wi-?fi|wlan)|[ \t](?:you|we|they)[ \t][a-z ]{1,24}?|[ \t]?[(（][^()（）\n\"]{1,24}[)）])?"
)
_STRONG = (
    rf"[ \t]*[\"'`)\]*]{{0,3}}(?:[ \t]+value)?{_ABOUT}[ \t]*(?:为|是|為)?[ \t]*"
    rf"(?:\?\?=|\|\|=|:=|=>|[:=：＝]|{KEY_BREAK})"
)
_WEAK = (
    rf"{_ABOUT}(?:['’]s|[ \t]+(?:(?:has been|was|is|wurde|ist)[ \t]+)?(?:now|jetzt|nun|immer|bisher|noch)?[ \t]*"
    r"(?:is|was|to|ist|war|lautet|es|est|era|(?:set|changed|reset|updated) to|(?:geändert|gesetzt) auf|will be|are)"
    r"(?:[ \t](?:immer|jetzt|nun|noch|now|still|always))?)"
    r"[ \t:]|"
    rf"{_ABOUT}[ \t]+[—–→|][ \t]+|"
    r"[\"'”`]?[ \t]*\p{Han}{0,4}?(?:是|为|為|成|叫|は)了?[ \t]*[:：]?|"
    r"[\"'][ \t]*,[ \t]*[\"']|[ \t]+[\"'“「‘]|[ \t]*（|\([\"']|>"
)
# Directly after a Chinese name.
_JOINED = compile_pattern(r"(?:密码|密碼|口令|提取码|解压码)[ \t]{0,2}[!#-&+-_a-~]{4}")
_PAIRS = compile_pattern(rf"(?i){_NAME}[A-Za-z0-9_-]{{0,24}}(?:{_STRONG}|{_WEAK})")
_SPACED = compile_pattern(
    r"(?i)(?:密码|密碼|口令|\b(?:passwor[dt]|passwd|pwd|pw|passphrase|kennwort|contraseña|clave|mot de passe|"
    r"(?:use|with|my|the|root|admin|user|sudo|webdav)[ ]pass))[ \t]{1,3}[!#-&(-_a-~]{0,63}?\d|"
    r"(?:\b|_)(?:token|secret|api[ _-]?key)[ \t]{1,3}[A-Za-z0-9_+/=-]{20}"
)
_SPACED_NAME = re.compile(r"(?i)(?:mot de passe|api key|\w{1,9}[ ](?=pass[ ])pass|[^ \t]+)[ \t]+")
_BARE = re.compile(r"[!#-&+-_a-~]{0,64}")
_MEASURED = re.compile(r"[ \t]?(?:位|个|個|次|年|天|条|字|以上|以内)")
_NAMES = re.compile(rf"(?i){_NAME}[A-Za-z0-9_-]{{0,24}}")
_ASSIGNS = re.compile(r"[:=：＝\x01]")
_USER_BEFORE = re.compile(r"[A-Za-z][\w.@-]{0,40}[ \t]*/[ \t]*(?=([!#-&(-.0-_a-~]{4,64}))")
_CALLS = re.compile(r"[,(]")
_PASS = re.compile(r"(?i)(?:^|_)pass\Z")
_PIN = re.compile(r"(?i)(?:^|_)p[iu][nk]\Z")
_WORDED_NAME = re.compile(r"(?i)secret(?:[_-]?key)?(?:[_-]?base)?\Z")
_KEY_NAME = re.compile(r"(?i)key|secret|(?:auth|access|api|bot)[_-]?token")
STEPS = 30  # of a value, besides two for each of its characters
_ENDS = ("", "\n", "\r", " ", ";", "&", '"', "'")
_ONE_TIME = re.compile(r"(?i)(?:one[ _-]?time|einmal)[ _-]?\Z")
_ADDRESS = re.compile(r".@[A-Za-z0-9-]+\.[A-Za-z]")
_SPACES = ("", " ", "\t", '"', "'")
_ARGUMENT = re.compile(r"\([\"'][#.]?\Z")
_RESOURCE = re.compile(r"\b(?:arn|urn|crn):[\w:/.-]*:\Z")  # the name of a place in a cloud
_PREFIX_CHARS, MOST_PREFIX_CHARS = f"{ascii_letters}{digits}_.-", 40


@finder(_PAIRS, _JOINED, _SPACED)
def find_assignments(text: ScanText) -> Iterator[Span]:
    """Yield the values of assignments, headers and sentences."""
    for start, end in _skip_names(text.find(_PAIRS)):
        if span := _judge_pair(text, start, end):
            yield span
    for start, end in text.find(_JOINED):
        value = text.text[end - 4 : _BARE.match(text.text, end - 4).end()].rstrip(".,;:)")
        is_short = len(value) == 4 and text.text.startswith("提取码", start) and not value.isalpha()
        is_code = (is_short or (value.isdigit() and len(value) in (4, 6, 8))) and not _MEASURED.match(
            text.text, end - 4 + len(value)
        )
        if is_code or (DIGIT_AND_LETTER.match(value) and is_password(value, False)):
            yield Span(end - 4, end - 4 + len(value), PASSWORD, "joined-password", 0.7)
    for start, end in _skip_names(text.find(_SPACED, steps=36)):
        if span := _judge_spaced(text.text, start, end):
            yield span


def _skip_names(matches):
    """Pass over a match whose value is the next one."""
    before = None
    for match in matches:
        if before and match[0] - before[1] > 1:
            yield before
        before = match
    if before:
        yield before


def _judge_pair(scan, start, end):
    text = scan.text
    before = text[max(0, start - MOST_PREFIX_CHARS) : start]
    prefix = before[len(before.rstrip(_PREFIX_CHARS)) :]
    name = _NAMES.match(text, start, end)[0]
    separator = text[start + len(name) : end]
    if "," in separator and not _ARGUMENT.search(text, max(0, start - len(prefix) - 3), start - len(prefix)):
        return None
    if not (kind := find_kind(prefix + name, text, start)):
        return None
    is_assigned = bool(_ASSIGNS.search(separator))
    if separator == ">" and text[max(0, start - len(prefix) - 1) : start - len(prefix)] != "<":
        return None
    if separator == ":" and text[end : end + 1] not in _SPACES and ("." in prefix or name.lower() == "pw"):
        return None  # the middle of a conditional expression, or a name with colons
    if separator == ":" and _RESOURCE.search(text, max(0, start - 80), start):
        return None
    value_start, value_end, is_quoted = find_value(text, end, separator)
    value_start, value_end = narrow_value(text, start - len(prefix), value_start, value_end, is_quoted)
    if kind == PASSWORD and (user := _USER_BEFORE.match(text, value_start)):
        value_start, value_end = narrow_value(text, user.end(), user.end(), user.end(1), False)
    scan.budget.spend(STEPS + 2 * (value_end - value_start))
    value = text[value_start:value_end]
    if not is_assigned and _PASS.search(name) and not DIGIT_AND_LETTER.fullmatch(value):
        return None  # the verb
    if separator == ">" and text[value_end : value_end + 2] != "</":
        return None
    is_environment = separator in ("=", ":") and (prefix + name).isupper()
    # No code: a setting without blanks, which no bracket or comma of a call follows.
    is_literal = is_environment or (separator == "=" and text[value_end : value_end + 1] in _ENDS) or separator == ">"
    is_setting = is_quoted or (is_environment and separator == "=" and value.islower())
    is_worded = kind != PASSWORD and is_assigned and (is_quoted or is_environment) and _WORDED_NAME.search(name)
    if value.lower().strip("_") == name.lower().strip("_") or not (
        (is_worded and is_worded_secret(value)) or _is_value(value, kind, name, is_setting, separator, is_literal)
    ):
        return None
    if kind == SECRET and UUID.fullmatch(value) and not _KEY_NAME.search(prefix + name):
        return None
    rule = f"assigned-{kind}"
    if kind == PASSWORD and _ONE_TIME.search(text, max(0, start - 10), start):
        kind, rule = SECRET, "one-time-code"
    return Span(value_start, value_end, kind, rule, 0.9 if is_assigned else 0.7)


def _is_value(value, kind, name, is_quoted, separator, is_literal):
    if kind != PASSWORD:
        return is_strong(value)
    if _PIN.search(name):
        return value.isdigit() and 4 <= len(value) <= 8
    if is_quoted or _ASSIGNS.search(separator):
        return is_password(value, is_quoted and not _CALLS.search(separator), is_literal)
    plain = value.rstrip("!?")
    return len(plain) >= 5 and not _ADDRESS.search(plain) and is_password(plain, False)


def _judge_spaced(text, start, end):
    """A password after its name and a blank; it has digits, and signs or upper case."""
    value_start, value_end, _is_quoted = find_value(text, _SPACED_NAME.match(text, start, end).end(), " ")
    value_start, value_end = narrow_value(text, start, value_start, value_end, False)
    value = text[value_start:value_end]
    kind = find_kind(_SPACED_NAME.match(text, start, end)[0], text, start)
    if kind and kind != PASSWORD:
        return Span(value_start, value_end, kind, f"spaced-{kind}", 0.6) if is_strong(value) else None
    if len(value) < 6 or not MIXED.match(value) or not is_password(value, False):
        return None
    return Span(value_start, value_end, PASSWORD, "spaced-password", 0.6)
