"""Reads a blob in bounded memory, and hashes it while it is read.

A blob that is not what was stashed is refused.
"""

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _

from openclaw_web import reasons

from .. import handles
from ..errors import DamagedArtifact, NoSuchArtifact
from . import layout

CHUNK = 1024 * 1024
MAX_BYTES = 4_000_000_000  # of one artifact, unpacked
MAX_META_BYTES = 1024 * 1024


class Blob:
    """One stored content, open for reading: `stored_bytes` on disk, `changed_at` (seconds), `is_compressed`."""

    def __init__(self, sha256: str, handle: int, *, is_compressed: bool):
        self.sha256 = sha256
        self.is_compressed = is_compressed
        status = os.fstat(handle)
        self.stored_bytes, self.changed_at = status.st_size, status.st_mtime
        self._handle = handle

    def chunks(self, *, expected: int | None = None) -> Iterator[bytes]:
        """The content, unpacked, in chunks of at most 1 MB. Raises DamagedArtifact.

        It raises as soon as there are more bytes than `expected`, and after the last chunk when number or hash are
        wrong: a reader that stops before the end has read unchecked bytes.
        """
        limit = MAX_BYTES if expected is None else expected
        digest, size = hashlib.sha256(), 0
        for chunk in _unpack(self._raw()) if self.is_compressed else self._raw():
            size += len(chunk)
            if size > limit:
                raise DamagedArtifact(
                    _("%(handle)s unpacks to more data than was stored. Reading was stopped.") % self._sentence_values
                )
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != self.sha256 or expected not in (None, size):
            raise DamagedArtifact(
                _("%(handle)s is damaged: its content is not what was stored.") % self._sentence_values
            )

    def ends(self, size: int, *, expected: int) -> tuple[bytes, bytes]:
        """The first and last `size` bytes of a plain blob; they may overlap.

        Only its size is checked, against `expected`.
        """
        if self.is_compressed or self.stored_bytes != expected:
            raise DamagedArtifact(_("%(handle)s is damaged: its size is not what was stored.") % self._sentence_values)
        return os.pread(self._handle, size, 0), os.pread(self._handle, size, max(0, expected - size))

    @property
    def _sentence_values(self):
        return {"handle": handles.from_sha256(self.sha256)}

    def _raw(self):
        place = 0
        while chunk := os.pread(self._handle, CHUNK, place):
            place += len(chunk)
            yield chunk


@contextmanager
def open_blob(root: Path, sha256: str) -> Iterator[Blob]:
    """The blob of a content, open for reading.

    Raises NoSuchArtifact when it is gone, DamagedArtifact when its place holds something else.
    """
    try:
        with layout.open_folder(root, layout.BLOBS, *layout.split_hash(sha256)) as folder:
            handle, is_compressed = _open_either(folder, sha256)
    except FileNotFoundError as exc:
        raise NoSuchArtifact(
            _("The content of %(handle)s is missing.") % {"handle": handles.from_sha256(sha256)}
        ) from exc
    try:
        yield Blob(sha256, handle, is_compressed=is_compressed)
    finally:
        os.close(handle)


def read_whole(root: Path, sha256: str, *, expected: int) -> bytes:
    """A whole content of `expected` bytes, checked.

    Raises NoSuchArtifact, or DamagedArtifact, also when it cannot be read.
    """
    try:
        with open_blob(root, sha256) as blob:
            return b"".join(blob.chunks(expected=expected))
    except OSError as exc:
        sentence_values = {"handle": handles.from_sha256(sha256), "reason": reasons.describe_os_error(exc)}
        raise DamagedArtifact(_("%(handle)s cannot be read: %(reason)s.") % sentence_values) from exc


def read_unchecked(root: Path, sha256: str) -> Iterator[bytes]:
    """A content in chunks as it is found, ending where it cannot be read.

    It may be searched, but never shown.
    """
    with suppress(DamagedArtifact, NoSuchArtifact, OSError), open_blob(root, sha256) as blob:
        yield from _unpack(blob._raw()) if blob.is_compressed else blob._raw()


def read_meta(root: Path, sha256: str) -> dict[str, Any] | None:
    """The metadata file of a content; None when there is none about this content."""
    try:
        with layout.open_folder(root, layout.META, *layout.split_hash(sha256)) as folder:
            handle = layout.open_file(f"{sha256}.json", folder)
    except (FileNotFoundError, DamagedArtifact):
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            document = orjson.loads(file.read(MAX_META_BYTES))
        except orjson.JSONDecodeError:
            return None
    sound = (
        isinstance(document, dict) and document.get("sha256") == sha256 and isinstance(document.get("createdAt"), str)
    )
    return document if sound else None


def _open_either(folder, sha256):
    """Open the plain blob of a content, or else the compressed one.

    Both exist only when two versions of a program wrote at once, and both are right.
    """
    try:
        return layout.open_file(sha256 + layout.PLAIN, folder), False
    except FileNotFoundError:
        return layout.open_file(sha256 + layout.GZIPPED, folder), True


def _unpack(chunks):
    """Gzip members unpacked; never more than CHUNK bytes at once, whatever they would unpack to."""
    unpacker = zlib.decompressobj(wbits=31)
    fed = False
    try:
        for chunk in chunks:
            while chunk:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(wbits=31)
                piece = unpacker.decompress(chunk, CHUNK)
                chunk = unpacker.unconsumed_tail or unpacker.unused_data
                fed = True
                if piece:
                    yield piece
        while piece := unpacker.decompress(unpacker.unconsumed_tail, CHUNK):
            yield piece
    except zlib.error as exc:
        raise DamagedArtifact(_("A compressed artifact is damaged and cannot be unpacked.")) from exc
    if not (fed and unpacker.eof):
        raise DamagedArtifact(_("A compressed artifact is damaged: its data ends too early."))
