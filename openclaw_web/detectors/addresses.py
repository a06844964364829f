"""Finds mail addresses of people and public IP addresses."""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

from .scan_text import ScanText, compile_pattern, finder
from .spans import EMAIL, ID_NUMBER, IP_ADDRESS, PHONE, Span

_EMAIL = compile_pattern(
    r"[A-Za-z0-9À-ɏ][A-Za-z0-9À-ɏ._%+'-]{0,63}@(?:[A-Za-z0-9À-ɏ](?:[A-Za-z0-9À-ɏ-]{0,62})\.){1,8}"
    r"(?:xn--[a-z0-9-]{2,59}|[A-Za-z]{2,24})",
    "addresses",
)
# Of other scripts: words of Chinese stand without blanks, so only ends that registries give out.
_OTHER_EMAIL = compile_pattern(
    r"[\p{L}\p{N}_-]@(?:[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*\.){1,4}(?:中国|中國|公司|网络|網絡|网址|网站|广告|"
    r"移动|在线|商城|商店|集团|"
    r"我爱你|政务|公益|香港|台湾|台灣|新加坡|みんな|コム|한국|닷컴|рф|рус|бел|укр|срб|мкд|қаз|бг|онлайн|сайт|ею|"
    r"ελ|भारत|ไทย|"
    r"(?:com|net|org|cn|jp|kr|ru|de|at|ch|eu|tw|hk)\b)",
    "addresses",
)
_LOCAL = re.compile(
    r"(?:[A-Za-z0-9._%+-]{1,40}|[\u4e00-\u9fff\u3040-\u30ff]{1,8}|[^\W\u3040-\u30ff\u4e00-\u9fff]{1,40})\Z"
)
# Names that no registry gives out, and ends that are names of files or units.
RESERVED_ENDS = frozenset(
    """
    example test invalid localhost local internal lan home corp localdomain arpa onion
    """.split()  # noqa: SIM905
)
FILE_ENDS = frozenset(
    """
    png jpg jpeg gif svg webp ico css js mjs cjs ts tsx jsx json yaml yml toml md txt html htm py rb rs go java
    kt sh php xml csv log lock service socket timer target mount slice scope conf cfg ini so dll exe zip gz
    """.split()  # noqa: SIM905
)
RESERVED_DOMAINS = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|org|net|edu|cn|co\.uk)|(?:test|domain|company|your-?domain|your-?company|"
    r"my-?domain)\.com)"
)
ROLES = frozenset(
    ["noreply", "no-reply", "no_reply", "donotreply", "do-not-reply", "mailer-daemon", "git", "hg", "svn"]
)
LOGINS = frozenset(["root", "ubuntu", "admin", "deploy", "ec2-user", "centos", "debian", "pi", "user", "git"])
# A file that is named after an address: `alice.meyer@firma-nord.de.md`.
_NAMED_FILE = re.compile(
    r"(?i)(?:(?<=\.(?:de|cn|ch|at|fr|uk|jp|eu|ru))|(?<=\.(?:com|net|org)))\.(?:md|txt|json|csv|html|xml|log|pdf)\Z"
)
# People and groups of WhatsApp: a telephone number, with the number of a device; or a number without a meaning.
_CHAT_ID = compile_pattern(
    r"\b\d{8,20}(?:-\d{8,12})?(?:[:_]\d{1,3}){0,2}@(?:s\.whatsapp\.net|c\.us|lid|g\.us|newsletter)\b", "addresses"
)
CHAT_DOMAINS = frozenset(["s.whatsapp.net", "c.us", "g.us"])
_MESSAGE_ID = re.compile(  # of a mail, and of those it answers
    r"(?i)\b(?:message[-_]?id|in[-_]?reply[-_]?to|references|content-id)[\"']?[:=][\"'\s]{0,3}(?:<[^<>\s]{3,90}>\s{1,3}){0,4}<\Z"
)
# Most addresses of logs begin with 10 or 127, and are no candidates.
_IP4 = compile_pattern(r"\b(?:1|1[1-9]|1(?:[013-9]\d|2[0-689])|[2-9]\d{0,2})(?:\.\d{1,3}){3}\b")
_IP6 = compile_pattern(  # eight groups, or fewer with "::": most others are times
    r"\b[23][0-9a-fA-F]{3}:(?:(?:[0-9a-fA-F]{1,4}:){6}[0-9a-fA-F]{1,4}|"
    r"(?:[0-9a-fA-F]{1,4}:){0,5}:(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{0,4})"
)
_VERSION = re.compile(
    r"(?i)(?<![a-z])(?:version|ver|release|build|section|chapter|assembly|revision|figure|clause|版本号?|章节?|"
    r"第|升级到?|更新到|固件|requires?|firmware|upgrade(?:d)? to|updated? to|v|§|"
    r"==|>=|<=|~=|[~^@])"
    r"[\s:：=\"'(（是到为]{0,4}\Z|[a-z]version[\"']?[:=][\"' ]{0,2}\Z"
)
_OR_NEWER = re.compile(r"(?i)[ \t]*(?:\+|or (?:newer|later|higher|above|greater)|and (?:up|later|newer)|以上|及以上)")
_HOST = re.compile(
    r"(?i)\b(?:ip|addr|address|host|hostname|server|from|to|client|peer|remote|ssh|ping|curl|dns|nameserver|resolver|"
    r"inet|connect(?:ed|ing)?|gateway|proxy|route)\b|://|@|地址|服务器|主机|公网|来自|解析"
)
_PRIVATE = "192.168."  # the library takes 50 times as long
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")
# Resolvers that everybody knows.
RESOLVERS = frozenset(
    """
    1.1.1.1 1.0.0.1 8.8.8.8 8.8.4.4 9.9.9.9 149.112.112.112 208.67.222.222 208.67.220.220 94.140.14.14 114.114.114.114
    223.5.5.5 223.6.6.6 119.29.29.29 180.76.76.76
    """.split()  # noqa: SIM905
)
_SMALL_OCTET = 20  # addresses of four such numbers look like versions


@finder(_OTHER_EMAIL, _CHAT_ID, _EMAIL)
def find_emails(text: ScanText) -> Iterator[Span]:
    """Yield mail addresses; a number of WhatsApp in one is a telephone number."""
    for start, end in text.find(_OTHER_EMAIL, b"@"):
        local = _LOCAL.search(text.text, max(0, start - 40), start + 1)
        if local and not (local[0] + text.text[start:end]).isascii():
            yield Span(local.start(), end, EMAIL, "email-other-script", 0.9)
    for start, end in text.find(_CHAT_ID, b"@"):
        local, domain = text.text[start:end].split("@")
        number = re.match(r"[\d-]+", local)[0]
        is_phone = domain in ("s.whatsapp.net", "c.us") and number.isdigit() and len(number) <= 15
        yield Span(start, start + len(number), PHONE if is_phone else ID_NUMBER, "whatsapp-id", 0.9)
    for start, end in text.find(_EMAIL, b"@"):
        if file_end := _NAMED_FILE.search(text.text, max(start, end - 10), end):
            end = file_end.start()
        address = text.text[start:end]
        local, domain = address.rsplit("@", 1)
        domain = domain.lower()
        if domain not in CHAT_DOMAINS and _is_email(text.text, start, end, local.lower(), domain):
            yield Span(start, end, EMAIL, "email")


def _is_email(text, start, end, local, domain):
    last = domain.rsplit(".", 1)[1]
    if last in RESERVED_ENDS or last in FILE_ENDS or RESERVED_DOMAINS.fullmatch(domain):
        return False
    if local in ROLES or domain.startswith("users.noreply.") or re.search(r"\.\.|\.$", local):
        return False
    before, after = text[max(0, start - 3) : start], text[end : end + 2]
    if before.endswith("<") and _MESSAGE_ID.search(text, max(0, start - 400), start):
        return False
    if before.endswith("!"):
        return False  # nick!user@host of IRC
    if before.endswith("://") or (
        before.endswith(":") and re.search(r"://[^\s/@]*\Z", text[max(0, start - 90) : start])
    ):
        return False  # the user or password of an address
    if after[:1] == "@" or (after[:1] in ("(", "=") and after[:1]):
        return False
    return not (after[:1] == ":" and (after[1:] in ("/", "~") or local in LOGINS))


@finder(_IP4, _IP6)
def find_ip_addresses(text: ScanText) -> Iterator[Span]:
    """Yield public addresses of both versions of IP; four small numbers need a word near by."""
    for start, end in text.find(_IP4, b".", steps=20):
        if _is_public4(text.text, start, end):
            yield Span(start, end, IP_ADDRESS, "ipv4")
    for start, end in text.find(_IP6, b":"):
        if span := _judge_ip6(text.text, start, end):
            yield span


def _is_public4(text, start, end):
    if text.startswith(_PRIVATE, start) or text[start:end] in RESOLVERS or not _is_public(text[start:end]):
        return False
    octets = text[start:end].split(".")
    before, after = text[max(0, start - 24) : start], text[end : end + 2]
    if (
        re.search(r"[\w.+~^-]\Z", before, re.ASCII)
        or re.search(r"[^/]/\Z", before)
        or re.match(r"[.-]?[\w]", after, re.ASCII)
    ):
        return False
    if _OR_NEWER.match(text, end):
        return False
    if (_VERSION.search(before) and not before.endswith("@")) or octets[3] == "0":
        return False
    return max(map(int, octets)) > _SMALL_OCTET or bool(_HOST.search(text, max(0, start - 40), start))


def _judge_ip6(text, start, end):
    if re.search(r"[\w:.-]\Z", text[max(0, start - 1) : start], re.ASCII) or re.match(
        r"[\w]", text[end : end + 1], re.ASCII
    ):
        return None
    if text[end - 1] == ":":
        end -= 1
    return Span(start, end, IP_ADDRESS, "ipv6") if _is_public(text[start:end]) else None


@lru_cache(maxsize=10_000)  # logs repeat their addresses
def _is_public(value):
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast and address not in _PROTOCOLS
