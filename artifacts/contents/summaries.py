"""One line about a content, made without a model: the same bytes give the same line."""

import re

import orjson
import re2

from . import content_types
from .measurement import Measure

LINE, NAME, KEYS = 240, 80, 6
LOOKED_AT = 64 * 1024  # characters of each end in which titles, exit codes and errors are looked for

_TITLE = re.compile(r"<title[^>]{0,200}>\s*([^<]{1,300})", re.I)
_EXIT = re2.compile(r"(?i)(?:exit(?:ed)?(?: with)? (?:code|status)|exit_?code\"?)[ :=]{0,3}(-?[0-9]{1,3})\b")
_ERROR = re2.compile(r"(?im)^.*(?:\b(?:error|exception|traceback|fatal|panic|failed|failure|denied)\b|\w+Error:).*$")
_PDF_PAGES = re.compile(rb"/Type\s*/Pages\b[^>]{0,200}?/Count\s+([0-9]{1,6})")
_NAMES = {content_types.JSON: "JSON", content_types.JSON_LINES: "JSON lines", content_types.HTML: "HTML"}


def summarise(measured: Measure, *, exit_code: int | None = None) -> str:
    """`JSON · 4,010 bytes · 1 line · keys: items (200), next`: type, size, lines, what it is about, how it ended."""
    kind = measured.content_type
    parts = _size(measured)
    if not content_types.is_text(kind):
        pages = _PDF_PAGES.search(measured.head) if kind == content_types.PDF else None
        return _joined([*parts, f"{int(pages[1]):,} pages" if pages else ""])
    head = measured.head[: 4 * LOOKED_AT].decode("utf-8", "replace")[:LOOKED_AT]
    ends = f"{head}\n{measured.tail.decode('utf-8', 'replace')}" if measured.bytes > LOOKED_AT else head
    parts.append(f"{measured.lines:,} line{'' if measured.lines == 1 else 's'}")
    parts.append(_about(measured, kind, head))
    code = exit_code
    if code is None and kind == content_types.TEXT:  # in JSON it may be that of anything
        code = _exit_code(ends)
    parts.append(f"exit code {code}" if code is not None else "")
    if kind == content_types.TEXT and (error := _first_error(ends)):
        parts.append(f"first error: {error}")
    return _joined(parts)


def summarise_size(measured: Measure) -> str:
    """`JSON · 4,010 bytes`, of a content of which nothing may be told."""
    return _joined(_size(measured))


def _size(measured):
    kind = measured.content_type
    return [_NAMES.get(kind) or ("text" if kind == content_types.TEXT else kind), f"{measured.bytes:,} bytes"]


def _about(measured, kind, head):
    if kind == content_types.HTML and (title := _TITLE.search(head)):
        return f"title: {_short(title[1])}"
    if kind == content_types.JSON and measured.bytes <= len(measured.head):
        return _shape(measured.head)
    return ""


def _shape(data):
    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return ""
    if isinstance(value, list):
        return f"{len(value):,} items"
    if not isinstance(value, dict):
        return ""
    names = [
        f"{_short(name)} ({len(item):,})" if isinstance(item, list) else _short(name) for name, item in value.items()
    ]
    more = f" and {len(names) - KEYS:,} more" if len(names) > KEYS else ""
    return f"keys: {', '.join(names[:KEYS])}{more}" if names else "no keys"


def _exit_code(text):
    found = _EXIT.findall(text)
    return int(found[-1]) if found else None


def _first_error(text):
    found = _ERROR.search(text)
    return _short(found[0]) if found else ""


def _short(text):
    line = " ".join(text.split())
    return line if len(line) <= NAME else line[: NAME - 1] + "…"


def _joined(parts):
    line = " · ".join(part for part in parts if part)
    return line if len(line) <= LINE else line[: LINE - 1] + "…"
