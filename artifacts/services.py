"""Every write to the `artifacts` table.

A content is a file first, and only then does a row refer to it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode, encode

from . import access, handles
from .contents import summaries
from .contents.measurement import Measure
from .errors import DamagedArtifact, NoSuchArtifact
from .excerpts import previews
from .models import Artifact
from .store import blobs, layout, locks, losses
from .store import content_writer as store
from .store.content_writer import StoredContent, WriteGroup

OUTPUT_KIND = "tool_output"
MAX_META, MAX_KIND = 8_000, 100  # characters
GROUP_SIZE = 256  # drafts that are synced together
ROWS = 500

Content = bytes | str | BinaryIO


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a content was used.

    All None: no place in particular, as from the command line.
    """

    session_id: str | None = None
    turn_id: str | None = None
    record_id: str | None = None
    tool: str | None = None
    tool_call_id: str | None = None


NOWHERE = Place()


@dataclass(slots=True)
class StashBatch:
    """Many contents that are stashed for one agent; made by `open_stash_batch`."""

    db: str
    group: WriteGroup
    holds_rows: bool = False
    _waiting: list[tuple[StoredContent, Artifact]] = field(default_factory=list)
    _ready: list[Artifact] = field(default_factory=list)
    _ahead: dict[str, tuple[StoredContent, Measure]] = field(default_factory=dict)

    def write_ahead(self, text: str) -> None:
        """Store a text that will be added soon, so that many become durable together.

        No row comes of it yet. The text stays in memory until the block ends. Raises Refused like `add`.
        """
        stored, measured = self.group.add(_read_chunks(text), kind=OUTPUT_KIND, meta={}, is_compressed=True)
        self._ahead[stored.sha256] = (stored, measured)
        if len(self.group.drafts) >= GROUP_SIZE:
            self.group.publish()

    def add(
        self,
        content: Content,
        *,
        kind: str = OUTPUT_KIND,
        meta: dict[str, Any] | None = None,
        place: Place = NOWHERE,
        is_compressed: bool = True,
        exit_code: int | None = None,
        at: int | None = None,
        first_stashed_at: str | None = None,
    ) -> tuple[Artifact, StoredContent]:
        """Stash bytes, a text or an open binary file.

        Returns the row to be written, with handle and summary, and the stored content. `at` is when it was used
        (milliseconds). Raises Refused when it cannot be stored or `meta` is no small JSON object.
        """
        meta_json = encode_meta(kind, meta)
        known = self._find_written_ahead(content) if self._ahead else None
        stored, measured = known or self.group.add(
            _read_chunks(content),
            kind=kind,
            meta=decode(meta_json),
            is_compressed=is_compressed,
            created_at=first_stashed_at,
        )
        columns = {"kind": kind, "meta_json": meta_json, "created_at": now_ms() if at is None else at}
        row = _build_row(stored, measured, place, exit_code, **columns)
        self._waiting.append((stored, row))
        if len(self._waiting) >= GROUP_SIZE:
            self.flush() if self.holds_rows else self.save()
        return row, stored

    def flush(self) -> None:
        """Make the added contents durable; rows may refer to them from now on."""
        self.group.publish()
        for stored, row in self._waiting:
            row.stored_bytes, row.is_compressed = stored.stored_bytes, stored.is_compressed
            self._ready.append(row)
        self._waiting.clear()

    def save(self) -> None:
        """Write the rows of all added contents, in the caller's transaction if it has one.

        Rows that exist already stay.
        """
        self.flush()
        if self._ready:
            Artifact.objects.using(self.db).bulk_create(self._ready, batch_size=ROWS, ignore_conflicts=True)
            self._ready.clear()

    def discard(self) -> None:
        """Forget the added contents without a row, as after a failed transaction.

        More can be added afterwards.
        """
        self.group.discard()
        self._waiting.clear()
        self._ready.clear()
        self._ahead.clear()

    def _find_written_ahead(self, content):
        if not isinstance(content, str):
            return None
        return self._ahead.get(hashlib.sha256(content.encode("utf-8", "replace")).hexdigest())


@contextmanager
def open_stash_batch(db: str, *, holds_rows: bool = False, root: Path | None = None) -> Iterator[StashBatch]:
    """Open a batch that stashes many contents for the agent whose file is `db`.

    No content is removed by `gc` until the block ends. Rows are written group by group, the last when the block ends
    well, or by `save()`. A caller with a transaction of its own opens it first thing inside the block and calls
    `save()` at its end, so that all rows are committed with it while the block still holds off `gc`. With `holds_rows`
    no row is written before that. Contents go to the store of this home, or to that in the folder `root`. Raises NoRoom
    when the store cannot be written.
    """
    with ExitStack() as stack:
        with store.translate_write_errors():
            root = layout.get_root(root)
            stack.enter_context(locks.hold_adoption_lock(root))
        batch = StashBatch(db, WriteGroup(root), holds_rows)
        try:
            yield batch
            batch.save()
        finally:
            batch.group.discard()


def stash(
    db: str,
    content: Content,
    *,
    kind: str = OUTPUT_KIND,
    meta: dict[str, Any] | None = None,
    place: Place = NOWHERE,
    is_compressed: bool = False,
    exit_code: int | None = None,
) -> tuple[Artifact, StoredContent]:
    """Stash one content and store the row that refers to it.

    Returns the row and the stored content. Raises Refused, and then there is neither.
    """
    with open_stash_batch(db) as batch:
        return batch.add(content, kind=kind, meta=meta, place=place, is_compressed=is_compressed, exit_code=exit_code)


def write_metadata(db: str) -> int:
    """Write the metadata of one agent's contents that have lost it; returns their number.

    The metadata is that of the oldest row. A content that does not match its name gets none. Raises NoRoom.
    """
    root = layout.get_root()
    with store.translate_write_errors(), locks.hold_adoption_lock(root):
        unnamed = sorted(losses.ContentIndex(root).find_losses(db)[0].unnamed)
        uses = (Artifact.objects.using(db).filter(handle=handles.from_sha256(sha256)) for sha256 in unnamed)
        oldest = (rows.order_by("created_at", "id").first() for rows in uses)
        return sum(_write_row_metadata(root, row) for row in oldest if row)


def _write_row_metadata(root, row):
    try:
        with blobs.open_blob(root, row.sha256) as blob:
            for _chunk in blob.chunks(expected=row.bytes):
                pass
    except (DamagedArtifact, NoSuchArtifact):
        return False
    created_at, meta = layout.to_iso(row.created_at), row.meta
    stored = StoredContent(row.sha256, row.bytes, blob.stored_bytes, blob.is_compressed, created_at, row.kind, meta)
    store.write_metadata(root, stored)
    return True


def remove(db: str, handle: str) -> int:
    """Remove every reference of one agent to a content; returns their number.

    `gc` removes the content. Raises NoSuchArtifact when the agent has none.
    """
    handles.parse(handle)
    with transaction.atomic(using=db):
        removed = Artifact.objects.using(db).filter(handle=handle).delete()[0]
    if not removed:
        raise NoSuchArtifact(_("This agent has no artifact %(handle)s.") % {"handle": handle})
    return removed


def _build_row(stored, measured, place, exit_code, **columns):
    is_private = columns["kind"] in access.FOR_OPERATORS
    return Artifact(
        id=_build_row_id(stored.handle, place, columns["kind"], columns["meta_json"]),
        handle=stored.handle,
        bytes=measured.bytes,
        stored_bytes=stored.stored_bytes,
        chars=measured.chars,
        lines=measured.lines,
        content_type=measured.content_type,
        is_compressed=stored.is_compressed,
        preview="" if is_private else previews.build_preview(measured),
        summary=summaries.summarise_size(measured)
        if is_private
        else summaries.summarise(measured, exit_code=exit_code),
        secret_kinds=encode(measured.secret_kinds),
        **asdict(place),
        **columns,
    )


def encode_meta(kind: str, meta: dict[str, Any] | None) -> str:
    """The metadata as JSON with sorted names.

    Raises Refused when it is too big or no JSON object, or when the kind is no word.
    """
    if not kind or len(kind) > MAX_KIND or not kind.isprintable():
        raise Refused(_("The kind of an artifact must be a word of at most %(most)s characters.") % {"most": MAX_KIND})
    if not isinstance(meta or {}, dict):
        raise Refused(_("The metadata of an artifact must be a JSON object."))
    try:
        text = encode(meta or {}, is_sorted=True)
    except TypeError as exc:
        raise Refused(_("The metadata of an artifact must be a JSON object.")) from exc
    if len(text) > MAX_META:
        sizes = {"length": f"{len(text):,}", "most": f"{MAX_META:,}"}
        raise Refused(
            _("The metadata has %(length)s characters; the limit is %(most)s. Put content into the artifact instead.")
            % sizes
        )
    return text


def _read_chunks(content: Content) -> bytes | Iterable[bytes]:
    if isinstance(content, str):
        return content.encode("utf-8", "replace")
    if isinstance(content, bytes):
        return content
    return iter(lambda: content.read(blobs.CHUNK), b"")


def _build_row_id(handle, place, kind, meta_json):
    values = [handle, *astuple(place), kind, meta_json]
    return hashlib.sha256(orjson.dumps(values)).hexdigest()[:32]
