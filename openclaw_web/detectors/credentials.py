"""Finds passwords in command lines, addresses and headers, and seed phrases."""

import base64
import re
from collections.abc import Iterator

from .placeholders import is_password, is_strong
from .scan_text import ScanText, compile_pattern, finder
from .spans import PASSWORD, SECRET, Span
from .value_bounds import find_value, narrow_value

# Tools whose password stands after an option, by the pattern of the option.
_OPTIONS = {
    r"-P[ \t]*": "sqlcmd isql osql bcp mosquitto_[ps]ub zip unzip ipmitool",
    r"-p[ \t]+": r"mongo mongosh mongo(?:dump|restore|import|export) cqlsh (?:docker|podman|oc|az|cf|ibmcloud)\s+login "
    r"helm\s+registry evil-winrm hydra nxc crackmapexec useradd usermod psexec rdesktop smbmap security",
    r"-p[ \t]*": "sshpass",
    r"-h?p": "mysql mysqldump mysqladmin mariadb 7z 7za 7zz rar unrar",
    r"-a[ \t]+": "redis-cli valkey-cli keydb-cli",
    r"-w[ \t]+": "ldap[a-z]+ security",
    r"-k[ \t]+": r"openssl\s+enc",
    r"-[NP][ \t]+": "ssh-keygen",
    r"-[AX][ \t]+": "snmp(?:get|walk|set|bulkwalk|table|trap)",
    r"-a[ \t]+[\w.@-]{1,40}:": "https? xh",
    r"-u[ \t]+[\w.@-]{1,40},": "lftp",
    r"-U[ \t]+['\"]?[A-Za-z0-9_./\\-]{1,40}%": "smbclient rpcclient winexe smbget",
    r"/p:": "xfreerdp wfreerdp",
    r"(?:user[ \t]+set[ \t]+)?password[ \t]+(?:\d{1,2}[ \t]+)?": "nmcli ipmitool",
    r"key=": r"netsh\s+wlan",
}
_TOOLS = "|".join(
    rf"\b(?:{'|'.join(tools.split(' '))})\b[^\n|;]{{0,120}}?[ \t]{option}[^\s-]" for option, tools in _OPTIONS.items()
)
# Commands whose password is an argument by its place; `\\n…` of a share has become a blank and a line break.
_ARGUMENTS = (
    r"\bnet[ \t]+use[ \t]+(?:(?:[a-z]:|\*)[ \t]+)?\\(?:\\|[ ][ \n])(?:\S|[ ][ \n]\w){1,100}[ \t]+[^\s/*]|"
    r"\bnet[ \t]+use\b(?:[^\n]|\\[ ]\n){0,80}?/user:\S{1,60}[ \t]+[^\s/*]|\bnet[ \t]+user[ \t]+\S{1,60}[ \t]+[^\s/*]|"
    r"\bhtpasswd[ \t]+-[a-z]*b[a-z]*[ \t]+\S{1,80}[ \t]+\S{1,60}[ \t]+\S|\bwpa_passphrase[ \t]+\S{1,40}[ \t]+\S|"
    r"\b(?:rabbitmqctl[ \t]+(?:add_user|change_password)|cf[ \t]+auth|dscl[ \t]+\.[ \t]+-passwd)[ \t]+\S{1,60}[ \t]+\S|"
    r"\b(?:ejabberdctl|prosodyctl)[ \t]+(?:register|change_password)[ \t]+\S{1,40}[ \t]+\S{1,60}[ \t]+\S|"
    r"\bmc[ \t]+alias[ \t]+set[ \t]+\S{1,40}[ \t]+\S{1,100}[ \t]+\S{1,60}[ \t]+\S|"
    r"\bsqlplus[ \t]+(?:-\w{1,4}[ \t]+){0,2}[\w$]{1,30}/[^\s@/]|\b(?:user|owner|input)_pw[ \t]+\S|"
    r"\bConvertTo-SecureString[ \t]+(?:-String[ \t]+)?['\"][^'\"]|\blogin\s{1,4}\S{1,60}\s{1,4}password[ \t]+\S|"
    r"\b(?:sudo[ \t]+-S|chpasswd)\b[^\n|;]{0,60}?<<<[ \t]*(?:['\"]?\w{1,32}:)?\S|\bidentified[ \t]+by[ \t]+['\"]|"
    r"(?:^|\n)[\w.*-]{1,60}:(?:54\d\d|6432|\*):[\w.*-]{1,40}:[\w.-]{1,40}:[^\s:]"
)
_FLAGS = compile_pattern(
    r"(?i)(?:^|[\s'\"\[(])--?(?:[a-z]{1,12}-){0,3}(?:password|storepass|keypass|passwd|pass|[uo]?pwd?|passphrase|token|"
    r"secret|api-?key|auth-?token|access-?token|client-?secret)[ \t]+[^\s-]|[ \t]-pass(?:in|out)?[ \t]+pass:\S|"
    r"type=['\"]?password['\"]?[^<>\n]{0,80}?\bvalue=['\"][^'\"]|\b(?:requirepass|masterauth|rootpw)[ \t]+\S|"
    r"(?:\bauth[ \t]*=[ \t]*\(|Auth\(|basic_auth\(|\blogin\()[ \t]*['\"][^'\"\n]{1,64}['\"],[ \t]*['\"][^'\"]|"
    rf"{_ARGUMENTS}|{_TOOLS}"
)
_USER = compile_pattern(r"(?:[ \t'\"]-u|--user|--proxy-user)[ \t=]+['\"]?[A-Za-z0-9_.@+-]{1,64}:[^\s'\"]")
_URL = compile_pattern(
    r"(?i)\b[a-z][a-z0-9+.-]{1,30}://[^\s:/@\"'<>`]{0,80}:[^\s/\"'<>`]{1,200}@[A-Za-z0-9\[$_%{.-]|"
    r"\b[\w.-]{1,40}:[^\s:@\"'<>`]{3,100}@(?:tcp|unix)\(",
    "addresses",
)
_BASIC = compile_pattern(r"(?i)\bbasic[ \t]+[A-Za-z0-9+/]{8,}={0,2}")
_MNEMONIC = compile_pattern(
    r"(?i)mnemonic|\bbip-?39|\b(?:seed|recovery|backup|wallet|secret)[ _-]?(?:phrase|words|seed)|"
    r"\b(?:12|24|twelve|twenty-four)[ -]words?|\bseed\b|助记词|助記詞|恢复短语|种子短语|"
    r"wiederherstellungs(?:phrase|wörter)|phrase de récupération|frase (?:semilla|de recuperación)"
)
# At most a few signs and a verb, then 12 to 24 words of small letters, also numbered or in lines.
_PHRASE = re.compile(
    r"[^A-Za-z]{0,12}(?:(?:phrase|words?|is|are|was|ist|lautet|es|est)\b[^A-Za-z]{1,6}){0,2}"
    r"((?:[a-z]{3,8}[\s,]{1,3}(?:\d{1,2}[.):]?[ \t]{0,2})?){11,23}[a-z]{3,8})(?![A-Za-z0-9_'’])"
)
_PROSE = frozenset("the and for your with was not but from has der die das und ist les des los".split())  # noqa: SIM905
_USER_VALUE = re.compile(r"[^\s'\"`]{1,128}")


@finder(_FLAGS, _USER, _BASIC, _URL, _MNEMONIC)
def find_credentials(text: ScanText) -> Iterator[Span]:
    """Yield values of flags, passwords of users and addresses, and phrases that restore a wallet."""
    for start, end in text.find(_FLAGS, steps=36):
        if span := _judge_flag(text.text, start, end):
            yield span
    for _start, end in text.find(_USER, b"-u"):
        if span := _judge_user(text.text, end - 1):
            yield span
    for start, end in text.find(_BASIC):
        encoded = text.text[start:end].split()[1]
        if _is_user_and_password(encoded):
            yield Span(end - len(encoded), end, PASSWORD, "basic-auth", 0.9)
    for start, end in text.find(_URL, b"@"):
        if span := _judge_url(text.text, start, end):
            yield span
    for _start, end in text.find(_MNEMONIC):
        phrase = _PHRASE.match(text.text, end)
        if phrase and _PROSE.isdisjoint(phrase[1].split()):
            yield Span(*phrase.span(1), SECRET, "mnemonic", 0.9)


def _judge_flag(text, start, end):
    value_start, value_end, is_quoted = find_value(text, end - 1, " ")
    value_start, value_end = narrow_value(text, start, value_start, value_end, is_quoted)
    if "sqlplus" in text[start:end] and (database := text.find("@", value_start, value_end)) >= 0:
        value_end = database
    value = text[value_start:value_end]
    if re.search(r"(?i)token|secret|key(?!gen|=|db)", text[start : end - 1]):
        return Span(value_start, value_end, SECRET, "flag-secret", 0.8) if is_strong(value) else None
    return Span(value_start, value_end, PASSWORD, "flag-password", 0.8) if is_password(value, is_quoted, True) else None


def _judge_user(text, place):
    match = _USER_VALUE.match(text, place)
    if not is_password(match[0].rstrip(",;"), True, True):
        return None
    return Span(place, place + len(match[0].rstrip(",;")), PASSWORD, "user-password", 0.9)


def _judge_url(text, start, end):
    user_start = text.find("://", start, end) + 3 if "://" in text[start:end] else start
    colon = text.index(":", user_start)
    stop = text.rindex("@", start, end)
    user, value = text[user_start:colon], text[colon + 1 : stop]
    if value == user or not is_password(value, True, True) or (":" in value and "@" in value):
        return None
    return Span(colon + 1, stop, PASSWORD, "url-password", 0.95)


def _is_user_and_password(encoded):
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
    except ValueError:
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon) and decoded.isprintable() and " " not in user and is_password(password, True, True)
