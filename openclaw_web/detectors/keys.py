"""Finds keys by their shape, JSON web tokens and private keys."""

import base64
import binascii
import re
from collections.abc import Iterator

from . import rules
from .json_layers import BREAK, KEY_BREAK, MASK
from .placeholders import is_placeholder, is_repetitive, is_strong
from .scan_text import ScanText, compile_pattern, finder
from .spans import JWT, KEY, PRIVATE_KEY, Span

# One for each family: the states of a single pattern for all shapes would not fit its memory.
_KEYS = tuple(
    compile_pattern(
        r"\b(?:" + "|".join(f"{shape.lead}{re.escape(shape.prefix)}{shape.body}" for shape in family) + ")", "keys"
    )
    for family in rules.FAMILIES
)
_UNKNOWN = compile_pattern(rf"(?:\b|[_-])(?:{rules.VENDOR_WORDS})[_-][A-Za-z0-9]{{24}}")
_BEFORE_UNKNOWN = re.compile(r"(?<![A-Za-z0-9_./-])(?:[A-Za-z][A-Za-z0-9]{0,15}[_-])?(?:[a-z0-9]{1,8}[_-])?\Z")
_PUBLIC = ("pk_", "pk-", "pub_", "pub-", "public_", "publishable_")
_UNKNOWN_BODY = re.compile(r"[A-Za-z0-9]+")
_SHAPES = [(re.compile(shape.lead), re.compile(re.escape(shape.prefix) + shape.body), shape) for shape in rules.SHAPES]
_IN_BASE64, _BASE64 = re.compile(r"[A-Za-z0-9+/]{60}\Z"), re.compile(r"[+/][A-Za-z0-9+/]{48}")
_LOWER_HEX, _IN_WORD = re.compile(r"[0-9a-f]+|[0-9]+"), re.compile(r"[-.][A-Za-z]")
_FIXED_END = re.compile(r"[A-Za-z0-9_]")
_JWT = compile_pattern(r"\beyJ[A-Za-z0-9_-]{8,}={0,2}\.[A-Za-z0-9_-]{8,}={0,2}\.[A-Za-z0-9_-]*")
_BEARER = compile_pattern(r"(?i)\b(?:bearer|bot|token)[ \t]+[A-Za-z0-9._~+/=:-]{16,}")
_BEGIN = compile_pattern(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|---- [B]EGIN SSH2 ENCRYPTED PRIVATE KEY ----"
)
_END = compile_pattern(
    r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|---- END SSH2 ENCRYPTED PRIVATE KEY ----"
)
_PUTTY = compile_pattern(r"Private-Lines: \d+(?:\s+[A-Za-z0-9+/=]{20,64})+")
_PUTTY_END = re.compile(r"\s{1,4}Private-MAC: [0-9a-f]{40,64}")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=_:,.\- \t]|\s|\\[nrt]|[\"'+])*")
MOST_KEY_CHARS = 20_000  # of a private key without an end; one with an end may be as long
LEAST_KEY_CHARS = 40


@finder(*_KEYS, _UNKNOWN, _BEARER)
def find_keys(text: ScanText) -> Iterator[Span]:
    """Yield keys by the shapes of the table, and tokens that follow `Bearer`."""
    judges = dict.fromkeys(_KEYS, _judge_key) | {_UNKNOWN: _judge_unknown, _BEARER: _judge_bearer}
    for pattern, judge in judges.items():
        for start, end in text.find(pattern):
            if span := judge(text.text, start, end):
                yield span


def _judge_key(text, start, end):
    if start and text[start - 1] == "-" and start > 1 and text[start - 2].isalnum():
        return None  # within a name of words with hyphens
    if _IN_BASE64.search(text, max(0, start - 64), start) or _BASE64.match(text, end):
        return None
    for lead, pattern, shape in _SHAPES:
        after_lead = lead.match(text, start, end).end() if shape.lead and lead.match(text, start, end) else start
        match = pattern.match(text, after_lead, end)
        if match and not (match.end() < len(text) and _FIXED_END.match(text, match.end())):
            stop = match.end() - (len(match[0]) - len(match[0].rstrip("-_")) if "." not in shape.body else 0)
            body = text[after_lead + len(shape.prefix) : stop]
            if "EXAMPLE" in body or is_repetitive(body):
                return None
            return Span(after_lead, stop, KEY, shape.rule)
    return None


def _judge_unknown(text, start, end):
    """A key of an unknown vendor: a word for a key, and random text."""
    word_start = start + (text[start] in "_-")
    before = _BEFORE_UNKNOWN.search(text, max(0, word_start - 28), word_start)
    body = _UNKNOWN_BODY.match(text, end - 24)
    if not before or before[0].lower().startswith(_PUBLIC):
        return None
    is_joined = text.startswith("_", body.end()) or _IN_WORD.match(text, body.end())
    if not is_strong(body[0]) or _LOWER_HEX.fullmatch(body[0]) or is_joined:
        return None
    return Span(before.start(), body.end(), KEY, "vendor-key", 0.8)


def _judge_bearer(text, start, end):
    value_start = start + len(text[start:end].split(None, 1)[0])
    value_start += len(text[value_start:end]) - len(text[value_start:end].lstrip())
    value = text[value_start:end].rstrip(".:")
    is_header = text[start : start + 6].lower() == "bearer" or re.search(
        r"(?i)authorization\W{1,8}$", text[max(0, start - 24) : start]
    )
    if not is_header or is_placeholder(value) or is_repetitive(value) or not re.search(r"\d", value):
        return None
    return Span(value_start, value_start + len(value), KEY, "bearer", 0.9)


@finder(_JWT)
def find_jwts(text: ScanText) -> Iterator[Span]:
    """Yield JSON web tokens whose first part decodes to a header."""
    for start, end in text.find(_JWT, b"eyJ"):
        token = text.text[start:end]
        if _is_header(token.split(".", 1)[0]):
            yield Span(start, end, JWT, "jwt")


def _is_header(part):
    try:
        header = base64.urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4))
    except (binascii.Error, ValueError):
        return False
    return header.startswith(b"{") and (b'"alg"' in header or b'"enc"' in header or b'"typ"' in header)


@finder(_BEGIN, _PUTTY)
def find_private_keys(text: ScanText) -> Iterator[Span]:
    """Yield private keys from first to last line, or as far as their text reaches."""
    ends = list(text.find(_END, b"PRIVATE KEY"))
    number, place = 0, 0
    begins = list(text.find(_BEGIN, b"PRIVATE KEY"))
    for index, (start, head_end) in enumerate(begins):
        if start < place:
            continue
        limit = min(begins[index + 1][0] if index + 1 < len(begins) else len(text.text), head_end + MOST_KEY_CHARS)
        while number < len(ends) and ends[number][0] < head_end:
            number += 1
        has_end = number < len(ends) and ends[number][0] <= limit
        stop = ends[number][1] if has_end else _BODY.match(text.text, head_end, limit).end()
        body = text.text[head_end : ends[number][0] if has_end else stop]
        if _is_key_body(body):
            place = stop if has_end else head_end + len(body.rstrip(" \t\r\n-\"'+"))
            yield Span(start, place, PRIVATE_KEY, "pem")
    for start, end in text.find(_PUTTY, b"Private-Lines"):
        yield Span(*_find_putty_ends(text.text, start, end), PRIVATE_KEY, "putty")


def _find_putty_ends(text, start, end):
    """From the first line of the file to its check value, where they are there."""
    first = text.rfind("PuTTY-User-Key-File-", max(0, start - 4_000), start)
    last = _PUTTY_END.match(text, end)
    return first if first >= 0 else start, last.end() if last else end


def _is_key_body(body):
    letters = re.sub(r"[^A-Za-z0-9+/=]", "", body[: 4 * MOST_KEY_CHARS])
    visible = len(re.sub(r"\s", "", body[: 4 * MOST_KEY_CHARS]))
    is_base64 = len(letters) >= LEAST_KEY_CHARS and len(letters) >= 0.8 * visible
    return is_base64 and len(set(letters)) >= 12 and not any(sign in body for sign in (BREAK, KEY_BREAK, MASK))


# For who asks for keys only: a text that none of the patterns matches need not be asked about.
PATTERNS = (*_KEYS, _UNKNOWN, _BEARER, _JWT, _BEGIN, _PUTTY)
FINDERS = (find_keys, find_jwts, find_private_keys)
