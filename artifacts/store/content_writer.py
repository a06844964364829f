"""Writes contents to the store, in groups that become durable together.

`publish` syncs all drafts of a group, then renames them, then syncs the folders. Only after it has returned may a row
refer to them. A writer that dies before leaves drafts, which nobody can read by a handle, or blobs without rows; `gc`
removes both.
"""

import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.pages.formatting import size as in_words

from .. import handles
from ..contents.measurement import Measure
from ..errors import DamagedArtifact, NoRoom, NoSuchArtifact
from . import blobs, layout, locks

LEVEL = 4  # a third of the time of 6 for a thirtieth more bytes
SYNCS = 16  # at once
READ_AGAIN = 1024 * 1024  # a blob up to this is read before it is used again
META_SCHEMA = "openclaw-mem.artifact.meta.v1"
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(slots=True)
class StoredContent:
    """One content of the store.

    `kind`, `meta` and `created_at` (ISO) are those of its first stash.
    """

    sha256: str
    bytes: int
    stored_bytes: int
    is_compressed: bool
    created_at: str
    kind: str
    meta: dict[str, Any] = field(default_factory=dict)
    is_new: bool = True

    @property
    def handle(self) -> str:
        return handles.from_sha256(self.sha256)

    @property
    def compression(self) -> str:
        return "gzip" if self.is_compressed else "none"

    def as_meta(self) -> bytes:
        """The metadata file, as the existing tool writes it."""
        facts = {
            "schema": META_SCHEMA,
            "handle": self.handle,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "storedBytes": self.stored_bytes,
            "compression": self.compression,
            "blob": layout.blob_name(self.sha256, is_compressed=self.is_compressed),
            "createdAt": self.created_at,
            "kind": self.kind,
            "meta": self.meta,
        }
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@dataclass(slots=True)
class Draft:
    """A content that is being written.

    `blob` and `meta` are None when the content was in the store already.
    """

    stored: StoredContent
    blob: Path | None
    meta: Path | None


class WriteGroup:
    """Contents that become durable together.

    `locks.hold_adoption_lock` must be held while it is used.
    """

    def __init__(self, root: Path):
        self.root = root
        self.drafts: list[Draft] = []

    def add(
        self,
        chunks: bytes | Iterable[bytes],
        *,
        kind: str,
        meta: dict[str, Any],
        is_compressed: bool = False,
        created_at: str | None = None,
    ) -> tuple[StoredContent, Measure]:
        """Write a content as a draft.

        Returns the stored content and its measure. Raises NoRoom when it cannot be written.
        """
        measured = Measure()
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        stored = StoredContent("", 0, 0, is_compressed, created_at or now, kind, meta)
        if isinstance(chunks, bytes):  # in memory already: nothing needs to be written to see whether it is known
            measured.feed(chunks)
            with translate_write_errors():
                known = self._find_known(stored, measured)
            if known:
                return known, measured
        with translate_write_errors(), self._open_draft() as (path, handle):
            if isinstance(chunks, bytes):
                stored.stored_bytes = _copy_chunks([chunks], handle, None, is_compressed)
            else:
                stored.stored_bytes = _copy_chunks(chunks, handle, measured, is_compressed)
                if known := self._find_known(stored, measured):
                    path.unlink()
                    return known, measured
            # Keep the metadata of a blob that is written again, as it was damaged or gone.
            document = blobs.read_meta(self.root, stored.sha256)
            if document:
                stored.created_at, stored.kind, stored.meta = _read_first_meta(document, stored)
        draft = Draft(stored, path, None)
        self.drafts.append(draft)
        with translate_write_errors(), self._open_draft() as (draft.meta, handle):
            _write_all(handle, stored.as_meta())
        return stored, measured

    def _find_known(self, stored, measured):
        """The store's own content with the measured hash, if there is a sound one."""
        stored.sha256, stored.bytes = measured.sha256, measured.bytes
        known = existing(self.root, stored)
        if known:
            self.drafts.append(Draft(known, None, None))
        return known

    def publish(self) -> None:
        """Make every draft durable and give it its name.

        Raises NoRoom; names that were given stay, without a row.
        """
        if not self.drafts:
            return
        try:
            with translate_write_errors():
                _sync_all([path for draft in self.drafts for path in (draft.blob, draft.meta) if path])
                with locks.hold_publishing_lock(self.root):
                    changed = [folder for draft in self.drafts for folder in _name_draft(self.root, draft)]
                _sync_all(changed)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the drafts that got no name."""
        for draft in self.drafts:
            for path in (draft.blob, draft.meta):
                if path:
                    path.unlink(missing_ok=True)
        self.drafts.clear()

    @contextmanager
    def _open_draft(self):
        path, handle = layout.create_draft(self.root)
        try:
            yield path, handle
        except BaseException:  # also a Ctrl-C: the draft is ours alone
            with suppress(OSError):
                path.unlink()
            raise
        finally:
            os.close(handle)


def existing(root: Path, content: StoredContent) -> StoredContent | None:
    """The store's own version of a content; None when it has no sound one.

    A content without a sound version is written anew. A long one counts as sound when its size is right.
    """
    try:
        with blobs.open_blob(root, content.sha256) as blob:
            if not blob.is_compressed and blob.stored_bytes != content.bytes:
                return None
            document = blobs.read_meta(root, content.sha256)
            if document is None or (blob.is_compressed and document.get("storedBytes") != blob.stored_bytes):
                return None
            if blob.stored_bytes <= READ_AGAIN:
                for _chunk in blob.chunks(expected=content.bytes):
                    pass
            size, is_compressed = blob.stored_bytes, blob.is_compressed
    except (NoSuchArtifact, DamagedArtifact):
        return None
    layout.touch(root, layout.blob_name(content.sha256, is_compressed=is_compressed))
    return StoredContent(
        content.sha256, content.bytes, size, is_compressed, *_read_first_meta(document, content), is_new=False
    )


def write_metadata(root: Path, stored: StoredContent) -> None:
    """Give a content in the store the metadata that it has lost."""
    path, handle = layout.create_draft(root)
    try:
        _write_all(handle, stored.as_meta())
        os.fsync(handle)
    finally:
        os.close(handle)
    _sync_all(layout.name_draft(root, path, layout.meta_name(stored.sha256)))


def _read_first_meta(document, stored):
    kind, meta = document.get("kind"), document.get("meta")
    kind, meta = kind if isinstance(kind, str) else stored.kind, meta if isinstance(meta, dict) else {}
    return document["createdAt"], kind, meta


def _name_draft(root, draft):
    """Give one draft its name; returns the folders that changed.

    The blob and metadata of the first writer stay.
    """
    stored = draft.stored
    known = existing(root, stored) if draft.blob else stored
    if known:  # perhaps by another process, which has not synced its folders yet
        for field_name in stored.__slots__:
            setattr(stored, field_name, getattr(known, field_name))
        return [root.joinpath(kind, *layout.split_hash(stored.sha256)) for kind in (layout.BLOBS, layout.META)]
    changed = layout.name_draft(root, draft.blob, layout.blob_name(stored.sha256, is_compressed=stored.is_compressed))
    other = layout.PLAIN if stored.is_compressed else layout.GZIPPED  # a damaged one, if any
    layout.remove(root, (layout.BLOBS, *layout.split_hash(stored.sha256)), stored.sha256 + other)
    changed += layout.name_draft(root, draft.meta, layout.meta_name(stored.sha256))
    draft.blob = draft.meta = None
    return changed


def _copy_chunks(chunks, handle, measured, is_compressed):
    """Write chunks, compressed if wanted, while they are measured; returns the bytes written.

    `measured` is None when they were measured before.
    """
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 31) if is_compressed else None  # 31: gzip, without a time
    size = 0
    for chunk in chunks:
        if measured:
            measured.feed(chunk)
        if measured and measured.bytes > blobs.MAX_BYTES:
            raise NoRoom(
                _("An artifact can have at most %(most)s. Nothing was stored.") % {"most": in_words(blobs.MAX_BYTES)}
            )
        size += _write_all(handle, packer.compress(chunk) if packer else chunk)
    return size + (_write_all(handle, packer.flush()) if packer else 0)


def _write_all(handle, data):
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(handle, remaining) :]
    return len(data)


def _sync_all(paths):
    # At once, because the file system then answers all of them with one commit: ten times faster than in turn.
    unique = list(dict.fromkeys(paths))
    parts = [unique[start::SYNCS] for start in range(min(SYNCS, len(unique)))]
    with ThreadPoolExecutor(SYNCS) as pool:
        list(pool.map(_sync, parts))


def _sync(paths):
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def translate_write_errors() -> Iterator[None]:
    """Turn a system error of writing to the store into NoRoom, with a sentence."""
    try:
        yield
    except OSError as exc:
        reason = _("no space left") if exc.errno in NO_ROOM else reasons.describe_os_error(exc)
        raise NoRoom(
            _("The artifact store cannot be written: %(reason)s. Nothing was stored.") % {"reason": reason}
        ) from exc
