"""Answering a selector: always bounded, always the same for the same content, and honest about what it leaves out."""

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
    """An answer. `verified` is `sha256` when all bytes were hashed on the way, `size` when only the ends were read."""

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
        """What was left out, and the command that shows more of this content of an agent."""
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
    """The first use of a content by an agent. Raises NotAHandle, or NoSuchArtifact when this agent never used it."""
    handles.parse(handle)
    row = Artifact.objects.using(db).filter(handle=handle).order_by("created_at", "id").first()
    if row is None:
        raise NoSuchArtifact(_("This agent has no artifact %(handle)s.") % {"handle": handle})
    return row


def fetch(db: str, handle: str, selector: Selector, *, by: str = "", agent_id: str = "") -> FetchResult:
    """A part of a content that the agent whose file is `db` has used.

    Raises NotAHandle, NoSuchArtifact, Damaged, and Refused for what cannot be asked. An answer of more than the usual
    size is written to the operator audit log, as asked for `by` somebody about `agent_id`.
    """
    selector.check()
    row = find_artifact(db, handle)
    with blobs.open_blob(layout.get_root(), row.sha256) as blob:
        answer = (
            _binary(row, selector, blob) if not content_types.is_text(row.content_type) else _text(row, selector, blob)
        )
    if selector.max_chars > USUAL_CHARS:
        told = {"max_chars": selector.max_chars, "mode": selector.mode, "reason": selector.reason}
        audit.record(by, "fetched", object_type="artifact", object_id=handle, agent_id=agent_id, **told)
    return answer


def peek(db: str, handle: str, *, chars: int = PEEK_CHARS) -> dict[str, Any]:
    """A small preview of a content and what is known of it, as JSON values. Raises like `fetch`."""
    if not 1 <= chars <= MOST_PEEK_CHARS:
        raise (WrongSelector if chars < 1 else Refused)(
            _("A preview can have 1 to %(most)s characters; fetch returns more.") % {"most": MOST_PEEK_CHARS}
        )
    answer = fetch(db, handle, Selector(max_chars=chars))
    row, about = answer.row, read_first_meta(answer.row)
    return {
        "schema": PEEK_SCHEMA,
        "handle": handle,
        "sha256": row.sha256,
        "bytes": row.bytes,
        "createdAt": about["createdAt"],
        "kind": about["kind"],
        "compression": "gzip" if row.is_compressed else "none",
        "meta": about["meta"],
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
    """`createdAt`, `kind` and `meta` of whoever stashed the content first; from the row when the file is gone."""
    about = blobs.read_meta(root or layout.get_root(), row.sha256) or {}
    kind, meta = about.get("kind"), about.get("meta")
    return {
        "createdAt": about.get("createdAt") or layout.to_iso(row.created_at),
        "kind": kind if isinstance(kind, str) else row.kind,
        "meta": meta if isinstance(meta, dict) else row.meta,
    }


def _text(row, selector, blob):
    if selector.mode in ("grep", "jsonpath"):
        return _searched(row, selector, blob)
    partly = not blob.is_compressed and row.bytes > WHOLE_BYTES and not selector.offset and selector.mode != "range"
    if partly:
        window = _read_ends(row, selector, blob)
    else:
        window = _window(text_windows.decode_chunks(blob.chunks(expected=row.bytes)), selector)
    return FetchResult(row, selector, window, _next(selector, window), "size" if partly else "sha256")


def _window(pieces: Iterator[str], selector: Selector) -> TextWindow:
    if selector.mode == "headtail":
        return text_windows.read_both_ends(pieces, selector.max_chars)
    if selector.mode == "tail":
        return text_windows.read_last(pieces, selector.max_chars)
    if selector.mode == "range":
        pieces = select_lines(pieces, *selector.line_numbers())
    return text_windows.read_from_offset(pieces, selector.offset, selector.max_chars, at_line=selector.mode == "range")


def _read_ends(row, selector, blob):
    """The window of head, tail or headtail from both ends of the file; what is between is known from the row."""
    cap = selector.max_chars
    head, tail = blob.ends(4 * cap + 8, expected=row.bytes)
    first, last = {"head": (cap, 0), "tail": (0, cap)}.get(selector.mode) or previews.split_cap(cap)
    begin = head.decode("utf-8", "replace")[:first]
    ending = previews.decode_tail(tail)[-last:] if last else ""
    breaks = row.lines - (not tail.endswith(b"\n"))
    left = TextSize(row.chars - len(begin) - len(ending), breaks - begin.count("\n") - ending.count("\n"))
    if selector.mode == "tail":
        return TextWindow(ending, left, TextSize(), TextSize())
    if not last:
        return TextWindow(begin, TextSize(), TextSize(), left)
    return TextWindow(begin + previews.GAP + ending, TextSize(), left, TextSize())


def _searched(row, selector, blob):
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
    return FetchResult(row, selector, window, _next(selector, window), counts=counts)


def _binary(row, selector, blob):
    if selector.mode in ("range", "grep", "jsonpath"):
        raise Refused(
            _("This artifact is not text (%(type)s): only its first bytes can be shown.") % {"type": row.content_type}
        )
    wanted = 16 * previews.HEX_ROWS
    partly = not blob.is_compressed and row.bytes > WHOLE_BYTES
    head = blob.ends(wanted, expected=row.bytes)[0] if partly else _first_bytes(blob.chunks(expected=row.bytes), wanted)
    window = TextWindow(previews.format_hex_rows(head, selector.max_chars), TextSize(), TextSize(), TextSize())
    shown = min(len(head), 16 * window.text.count("\n"))
    counts = {"binary": True, "bytesLeftOut": row.bytes - shown}
    return FetchResult(row, selector, window, None, "size" if partly else "sha256", counts)


def _first_bytes(chunks: Iterable[bytes], wanted: int) -> bytes:
    """The first bytes, with all the others read and checked."""
    head = b""
    for chunk in chunks:
        head += chunk[: wanted - len(head)]
    return head


def _next(selector, window):
    """The selector that gives what comes next; None when nothing was left out there."""
    if selector.mode == "tail":
        start = max(0, window.before.chars - selector.max_chars)
        wanted = min(window.before.chars, selector.max_chars)
        return replace(selector, mode="head", offset=start, max_chars=wanted) if wanted else None
    if selector.mode == "headtail" and (window.between.chars or window.after.chars):
        shown = previews.split_cap(selector.max_chars)[0]
        return replace(selector, mode="head", offset=shown)
    if window.after.chars:
        return replace(selector, offset=window.before.chars + len(window.text))
    return None


def select_lines(pieces: Iterable[str], first: int, last: int | None) -> Iterator[str]:
    """The lines `first` to `last` of a text in pieces; it is read to its end all the same."""
    number = 1  # of the line the next piece begins in
    for piece in pieces:
        breaks = piece.count("\n")
        start = _after_breaks(piece, first - number) if number < first else 0
        end = _after_breaks(piece, last - number + 1) if last is not None and number <= last else len(piece)
        if number + breaks >= first and (last is None or number <= last):
            yield piece[start:end]
        number += breaks


def _after_breaks(text: str, count: int) -> int:
    """Where the text goes on after so many line breaks; its end when there are fewer."""
    place = -1
    for _break in range(count):
        place = text.find("\n", place + 1)
        if place < 0:
            return len(text)
    return place + 1
