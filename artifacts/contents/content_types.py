"""Guesses the type of a content from its first and last bytes.

Names and types that others gave it are not trusted.
"""

import codecs
import re

import orjson

TEXT, JSON, JSON_LINES, HTML = "text/plain", "application/json", "application/x-ndjson", "text/html"
PDF, BINARY = "application/pdf", "application/octet-stream"
TEXTS = frozenset({TEXT, JSON, JSON_LINES, HTML})
PARSED_BYTES = 1024 * 1024  # a JSON text up to this is parsed to be sure; of a longer one both ends are examined

SIGNATURES = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1f\x8b", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)
KNOWN = tuple(sorted({*TEXTS, *(name for _signature, name in SIGNATURES), BINARY}))  # all that `guess` answers
# No match is tried in another way: a page may have any number of comments, and may be made to hang us.
_HTML = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_SPACE = b" \t\r\n"
SNIFFED = 4096


def guess(head: bytes, tail: bytes, *, is_whole: bool, is_utf8: bool = True) -> str:
    """The type of a content that begins with `head` and ends with `tail`.

    With `is_whole`, `head` is all of it.
    """
    head = head.removeprefix(codecs.BOM_UTF8)
    for signature, content_type in SIGNATURES:
        if head.startswith(signature):
            return content_type
    if is_binary(head) or is_binary(tail):
        return BINARY
    if _HTML.match(head[:SNIFFED]):
        return HTML
    if is_utf8 and head.lstrip(_SPACE)[:1] in (b"{", b"["):
        if is_whole and len(head) <= PARSED_BYTES:
            return JSON if _parses(head) else JSON_LINES if _first_line_parses(head) else TEXT
        if _first_line_parses(head):
            return JSON_LINES
        closes = {b"{": b"}", b"[": b"]"}[head.lstrip(_SPACE)[:1]]
        return JSON if tail.rstrip(_SPACE)[-1:] == closes else TEXT
    return TEXT


def is_text(content_type: str) -> bool:
    """Whether a content of this type can be shown as text."""
    return content_type in TEXTS


def is_binary(sample: bytes) -> bool:
    """Whether bytes are no text: a NUL, or more than a tenth of them outside UTF-8."""
    if b"\0" in sample:
        return True
    inner = sample[3:-3] if len(sample) > 64 else sample  # a sample may cut a character in two
    return inner.decode("utf-8", "replace").count("\ufffd") > max(1, len(inner) // 10)


def _first_line_parses(head):
    line, separator, rest = head.lstrip(_SPACE).partition(b"\n")
    return bool(separator and rest.lstrip(_SPACE)[:1] in (b"{", b"[") and _parses(line))


def _parses(data):
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True
