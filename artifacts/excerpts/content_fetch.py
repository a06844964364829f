"""Reads the part of a content that a selector names.

The answer is always bounded, the same for the same content, and names everything that it leaves out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web import amounts
from openclaw_web.errors import Refused
from people.audit import log as audit

from .. import handles
from ..contents import content_types
from ..errors import NoSuchArtifact, WrongSelector
from ..models import Artifact
from ..store import blobs, layout
from . import previews, text_windows
from .selectors import MOST_PEEK_CHARS, PEEK_CHARS, USUAL_CHARS, Selector
from .text_windows import TextSize, TextWindow

FETCH_SCHEMA, PEEK_SCHEMA = "openclaw-mem.artifact.fetch.v1", "openclaw-mem.artifact.peek.v1"
# A plain blob larger than this is not read whole for its ends: then only its size is checked, and the answer says so.
WHOLE_BYTES = 16 * 1024 * 1024
MOST_JSON_BYTES = 16 * 1024 * 1024  # that a JSONPath is asked about


@dataclass(slots=True)
class FetchResult:
    """The answer to a selector.

    `verified` is `sha256` when all bytes were hashed on the way, `size` when only the ends were read.
    """

    row: Artifact
    selector: Selector
    window: TextWindow
    next: Selector | None = None
    verified: str = "sha256"
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.window.text

    def as_receipt(self) -> dict[str, Any]:
        """The answer as JSON values."""
        left_out = {name: asdict(getattr(self.window, name)) for name in ("before", "between", "after")}
        return {
            "schema": FETCH_SCHEMA,
            "handle": self.row.handle,
            "selector": self.selector.as_receipt(),
            "text": self.text,
            "contentType": self.row.content_type,
            "bytes": self.row.bytes,
            "lines": self.row.lines,
            "leftOut": {name: part for name, part in left_out.items() if part["chars"]},
            "next": self.next.as_receipt() if self.next else None,
            "verified": self.verified,
            **self.counts,
        }

    def in_words(self, agent_id: str) -> Iterator[str]:
        """Sentences on the omitted parts, and the command that shows more of the content."""
        words = {
            "before": _("Omitted before: %(chars)s, %(lines)s."),
            "between": _("Omitted between: %(chars)s, %(lines)s."),
            "after": _("Omitted after: %(chars)s, %(lines)s."),
        }
        for name in words:
            part = getattr(self.window, name)
            if part.chars:
                sizes = {"chars": amounts.format_amount("characters", part.chars)}
                sizes["lines"] = amounts.format_amount("line breaks", part.lines)
                yield words[name] % sizes
        if self.counts.get("matches") == 0:
            is_grep = self.selector.mode == "grep"
            yield _("No line matches this pattern.") if is_grep else _("Nothing matches this path.")
        if self.next:
            command = handles.build_fetch_command(self.row.handle, agent_id, self.next.as_options())
            yield _("More: %(command)s") % {"command": command}


def find_artifact(db: str, handle: str) -> Artifact:
    """The first use of a content by an agent.

    Raises NotAHandle, or NoSuchArtifact when this agent never used it.
    """
    handles.parse(handle)
    row = Artifact.objects.using(db).filter(handle=handle).order_by("created_at", "id").first()
    if row is None:
        raise NoSuchArtifact(_("This agent has no artifact %(handle)s.") % {"handle": handle})
    return row


def fetch(db: str, handle: str, selector: Selector, *, by: str = "", agent_id: str = "") -> FetchResult:
    """Read a part of a content that the agent whose file is `db` has used.

    Raises NotAHandle, NoSuchArtifact, DamagedArtifact, and Refused for a selector that is not allowed. An answer of
    more than the usual size is written to the operator audit log, with `by` as the reader, and `agent_id`.
    """
    selector.check()
    row = find_artifact(db, handle)
    with blobs.open_blob(layout.get_root(), row.sha256) as blob:
        answer = (
            _fetch_binary(row, selector, blob)
            if not content_types.is_text(row.content_type)
            else _fetch_text(row, selector, blob)
        )
    if selector.max_chars > USUAL_CHARS:
        details = {"max_chars": selector.max_chars, "mode": selector.mode, "reason": selector.reason}
        audit.record(by, "fetched", object_type="artifact", object_id=handle, agent_id=agent_id, **details)
    return answer


def peek(db: str, handle: str, *, chars: int = PEEK_CHARS) -> dict[str, Any]:
    """A small preview of a content and its facts, as JSON values.

    Raises like `fetch`.
    """
    if not 1 <= chars <= MOST_PEEK_CHARS:
        raise (WrongSelector if chars < 1 else Refused)(
            _("A preview can have 1 to %(most)s characters; fetch returns more.") % {"most": MOST_PEEK_CHARS}
        )
    answer = fetch(db, handle, Selector(max_chars=chars))
    row, first = answer.row, read_first_meta(answer.row)
    return {
        "schema": PEEK_SCHEMA,
        "handle": handle,
        "sha256": row.sha256,
        "bytes": row.bytes,
        "createdAt": first["createdAt"],
        "kind": first["kind"],
        "compression": "gzip" if row.is_compressed else "none",
        "meta": first["meta"],
        "preview": answer.text,
        "previewChars": chars,
        "storedBytes": row.stored_bytes,
        "lines": row.lines,
        "chars": row.chars,
        "contentType": row.content_type,
        "summary": row.summary,
        "secretKinds": row.secrets,
        "verified": answer.verified,
    }


def read_first_meta(row: Artifact, root: Path | None = None) -> dict[str, Any]:
    """`createdAt`, `kind` and `meta` of the first stash of a content.

    They are those of the row when the file is gone.
    """
    document = blobs.read_meta(root or layout.get_root(), row.sha256) or {}
    kind, meta = document.get("kind"), document.get("meta")
    return {
        "createdAt": document.get("createdAt") or layout.to_iso(row.created_at),
        "kind": kind if isinstance(kind, str) else row.kind,
        "meta": meta if isinstance(meta, dict) else row.meta,
    }


def _fetch_text(row, selector, blob):
    if selector.mode in ("grep", "jsonpath"):
        return _fetch_matches(row, selector, blob)
    partly = not blob.is_compressed and row.bytes > WHOLE_BYTES and not selector.offset and selector.mode != "range"
    if partly:
        window = _read_ends(row, selector, blob)
    else:
        window = _read_window(text_windows.decode_chunks(blob.chunks(expected=row.bytes)), selector)
    return FetchResult(row, selector, window, _build_next(selector, window), "size" if partly else "sha256")


def _read_window(pieces: Iterator[str], selector: Selector) -> TextWindow:
    if selector.mode == "headtail":
        return text_windows.read_both_ends(pieces, selector.max_chars)
    if selector.mode == "tail":
        return text_windows.read_last(pieces, selector.max_chars)
    if selector.mode == "range":
        pieces = select_lines(pieces, *selector.line_numbers())
    return text_windows.read_from_offset(pieces, selector.offset, selector.max_chars, at_line=selector.mode == "range")


def _read_ends(row, selector, blob):
    """The window of head, tail or headtail, from both ends of the file.

    The size of the text between is known from the row.
    """
    cap = selector.max_chars
    head, tail = blob.ends(4 * cap + 8, expected=row.bytes)
    first, last = {"head": (cap, 0), "tail": (0, cap)}.get(selector.mode) or previews.split_cap(cap)
    begin = head.decode("utf-8", "replace")[:first]
    ending = previews.decode_tail(tail)[-last:] if last else ""
    breaks = row.lines - (not tail.endswith(b"\n"))
    omitted = TextSize(row.chars - len(begin) - len(ending), breaks - begin.count("\n") - ending.count("\n"))
    if selector.mode == "tail":
        return TextWindow(ending, omitted, TextSize(), TextSize())
    if not last:
        return TextWindow(begin, TextSize(), TextSize(), omitted)
    return TextWindow(begin + previews.GAP + ending, TextSize(), omitted, TextSize())


def _fetch_matches(row, selector, blob):
    content = blob.chunks(expected=row.bytes)
    if selector.mode == "grep":
        search = selector.grep()
        window = text_windows.read_from_offset(
            search.pieces(content), selector.offset, selector.max_chars, at_line=True
        )
        counts = {"matches": search.matches, "longLinesCut": search.cut}
    else:
        if row.bytes > MOST_JSON_BYTES:
            raise Refused(_("This JSON is too large for a JSONPath. Use grep, range or head."))
        search = selector.matches()
        pieces = search.pieces(b"".join(content))
        window = text_windows.read_from_offset(pieces, selector.offset, selector.max_chars, at_line=True)
        counts = {"matches": search.matches}
    return FetchResult(row, selector, window, _build_next(selector, window), counts=counts)


def _fetch_binary(row, selector, blob):
    if selector.mode in ("range", "grep", "jsonpath"):
        raise Refused(
            _("This artifact is not text (%(type)s): only its first bytes can be shown.") % {"type": row.content_type}
        )
    length = 16 * previews.HEX_ROWS
    partly = not blob.is_compressed and row.bytes > WHOLE_BYTES
    head = (
        blob.ends(length, expected=row.bytes)[0]
        if partly
        else _read_first_bytes(blob.chunks(expected=row.bytes), length)
    )
    window = TextWindow(previews.format_hex_rows(head, selector.max_chars), TextSize(), TextSize(), TextSize())
    shown_bytes = min(len(head), 16 * window.text.count("\n"))
    counts = {"binary": True, "bytesLeftOut": row.bytes - shown_bytes}
    return FetchResult(row, selector, window, None, "size" if partly else "sha256", counts)


def _read_first_bytes(chunks: Iterable[bytes], length: int) -> bytes:
    """The first `length` bytes; all the others are read and checked."""
    head = b""
    for chunk in chunks:
        head += chunk[: length - len(head)]
    return head


def _build_next(selector, window):
    """The selector of the next part; None when nothing was left out there."""
    if selector.mode == "tail":
        start = max(0, window.before.chars - selector.max_chars)
        length = min(window.before.chars, selector.max_chars)
        return replace(selector, mode="head", offset=start, max_chars=length) if length else None
    if selector.mode == "headtail" and (window.between.chars or window.after.chars):
        head_length = previews.split_cap(selector.max_chars)[0]
        return replace(selector, mode="head", offset=head_length)
    if window.after.chars:
        return replace(selector, offset=window.before.chars + len(window.text))
    return None


def select_lines(pieces: Iterable[str], first: int, last: int | None) -> Iterator[str]:
    """The lines `first` to `last` of a text in pieces.

    The text is read to its end all the same.
    """
    number = 1  # of the line the next piece begins in
    for piece in pieces:
        breaks = piece.count("\n")
        start = _find_after_breaks(piece, first - number) if number < first else 0
        end = _find_after_breaks(piece, last - number + 1) if last is not None and number <= last else len(piece)
        if number + breaks >= first and (last is None or number <= last):
            yield piece[start:end]
        number += breaks


def _find_after_breaks(text: str, count: int) -> int:
    """The position after so many line breaks; the end of the text when it has fewer."""
    place = -1
    for _break in range(count):
        place = text.find("\n", place + 1)
        if place < 0:
            return len(text)
    return place + 1
