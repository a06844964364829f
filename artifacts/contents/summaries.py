"""Summarises a content in one line, without a model.

The same bytes give the same line.
"""

import re

import orjson
import re2

from . import content_types
from .measurement import Measure

LINE, NAME, KEYS = 240, 80, 6
SEARCHED_CHARS = 64 * 1024  # characters of each end that are searched for titles, exit codes and errors

_TITLE = re.compile(r"<title[^>]{0,200}>\s*([^<]{1,300})", re.I)
_EXIT = re2.compile(r"(?i)(?:exit(?:ed)?(?: with)? (?:code|status)|exit_?code\"?)[ :=]{0,3}(-?[0-9]{1,3})\b")
_ERROR = re2.compile(r"(?im)^.*(?:\b(?:error|exception|traceback|fatal|panic|failed|failure|denied)\b|\w+Error:).*$")
_PDF_PAGES = re.compile(rb"/Type\s*/Pages\b[^>]{0,200}?/Count\s+([0-9]{1,6})")
_NAMES = {content_types.JSON: "JSON", content_types.JSON_LINES: "JSON lines", content_types.HTML: "HTML"}


def summarise(measured: Measure, *, exit_code: int | None = None) -> str:
    """Summarise a content in one line: type, size, lines, subject and result.

    For example `JSON · 4,010 bytes · 1 line · keys: items (200), next`.
    """
    kind = measured.content_type
    parts = _list_size(measured)
    if not content_types.is_text(kind):
        pages = _PDF_PAGES.search(measured.head) if kind == content_types.PDF else None
        return _join_parts([*parts, f"{int(pages[1]):,} pages" if pages else ""])
    head = measured.head[: 4 * SEARCHED_CHARS].decode("utf-8", "replace")[:SEARCHED_CHARS]
    ends = f"{head}\n{measured.tail.decode('utf-8', 'replace')}" if measured.bytes > SEARCHED_CHARS else head
    parts.append(f"{measured.lines:,} line{'' if measured.lines == 1 else 's'}")
    parts.append(_describe_subject(measured, kind, head))
    code = exit_code
    if code is None and kind == content_types.TEXT:  # in JSON it may be that of anything
        codes = _EXIT.findall(ends)
        code = int(codes[-1]) if codes else None
    parts.append(f"exit code {code}" if code is not None else "")
    if kind == content_types.TEXT and (error := _find_first_error(ends)):
        parts.append(f"first error: {error}")
    return _join_parts(parts)


def summarise_size(measured: Measure) -> str:
    """The type and size of a content whose words may not be shown.

    For example `JSON · 4,010 bytes`.
    """
    return _join_parts(_list_size(measured))


def _list_size(measured):
    kind = measured.content_type
    return [_NAMES.get(kind) or ("text" if kind == content_types.TEXT else kind), f"{measured.bytes:,} bytes"]


def _describe_subject(measured, kind, head):
    if kind == content_types.HTML and (title := _TITLE.search(head)):
        return f"title: {_shorten(title[1])}"
    if kind == content_types.JSON and measured.bytes <= len(measured.head):
        try:
            value = orjson.loads(measured.head.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            return ""
        if isinstance(value, list):
            return f"{len(value):,} items"
        if not isinstance(value, dict):
            return ""
        names = [
            f"{_shorten(name)} ({len(item):,})" if isinstance(item, list) else _shorten(name)
            for name, item in value.items()
        ]
        more = f" and {len(names) - KEYS:,} more" if len(names) > KEYS else ""
        return f"keys: {', '.join(names[:KEYS])}{more}" if names else "no keys"
    return ""


def _find_first_error(text):
    match = _ERROR.search(text)
    return _shorten(match[0]) if match else ""


def _shorten(text):
    line = " ".join(text.split())
    return line if len(line) <= NAME else line[: NAME - 1] + "…"


def _join_parts(parts):
    line = " · ".join(part for part in parts if part)
    return line if len(line) <= LINE else line[: LINE - 1] + "…"
