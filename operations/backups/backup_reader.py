"""Reads backup files without trust: every statement of a file is checked before it is used.

Members have to be plain files that match the manifest and the list: by name, order, size and hash. No more is unpacked
than was declared. Every part ends where the next one begins, so there is no data between them.
"""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard
from django.utils.translation import gettext as _

from artifacts.contents import content_types
from openclaw_web import reasons
from openclaw_web.errors import Refused

from . import backup_format
from .backup_format import BLOCK, CHUNK, END, SKIPPED, TRAILER, WORD

if TYPE_CHECKING:
    from .manifest import DatabaseEntry, FileEntry

WINDOW = 128 * 1024 * 1024
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # the first bytes of zstd frames
LINKS = (tarfile.SYMTYPE, tarfile.LNKTYPE)
DEVICES = (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)


class Archive:
    """An opened backup file. Several threads can read its parts at once."""

    def __init__(self, path: Path, handle: int):
        from . import manifest  # only where a backup is read: a site at rest needs no schema

        self.path = path
        self._handle = handle
        self._end = os.fstat(handle).st_size - TRAILER.size
        self._manifest_offset = self._find_manifest()
        with _open_part(self._handle, self._manifest_offset, self._end) as part:
            header = part.header()
            if header.name != backup_format.MANIFEST or header.size > backup_format.MAX_BYTES:
                raise Refused(_("The manifest of this archive is not where it should be."))
            data = part.read(header.size)
            part.skip_padding(header.size)
            if part.read(len(END)) != END:
                raise Refused(_("The archive does not end where its manifest ends."))
        self.manifest = manifest.parse_manifest(data)
        offsets = self._offsets()
        if offsets[0] != 0 or any(start >= next_start for start, next_start in pairwise(offsets)):
            raise Refused(_("The manifest does not match this archive: its parts are in other places."))

    def database(self, entry: "DatabaseEntry") -> Iterator[bytes]:
        """The bytes of a database of the manifest.

        Raises Refused, after the last byte at the latest, when they differ from the manifest.
        """
        offsets = self._offsets()
        return read_member(self._handle, entry.offset, offsets[offsets.index(entry.offset) + 1], entry)

    def files(self) -> Iterator[tuple["FileEntry", Iterator[bytes]]]:
        """Every other file with its bytes, which have to be read before the next file."""
        files, count, total = self.manifest.files, 0, 0
        with _open_part(self._handle, files.offset, files.list_offset) as part:
            for entry in self.read_file_list():
                count, total = count + 1, total + entry.bytes
                if count > files.count or total > files.bytes:
                    raise Refused(_("The archive contains more files than its manifest declares."))
                yield entry, part.member(entry)
        if (count, total) != (files.count, files.bytes):
            raise Refused(_("The archive contains fewer files than its manifest declares."))

    def sha256(self) -> str:
        """The hash of the whole file, as `backup_runs` stores it."""
        digest, place = hashlib.sha256(), 0
        while chunk := os.pread(self._handle, CHUNK, place):
            digest.update(chunk)
            place += len(chunk)
        return digest.hexdigest()

    def read_file_list(self) -> Iterator["FileEntry"]:
        """The entries of the list of files, one at a time.

        Mistakes of the list as a whole are noticed after its last line.
        """
        from .manifest import FileEntry, parse_line

        files, rest, last_key = self.manifest.files, b"", None
        entry = FileEntry(path=backup_format.LIST, bytes=files.list_bytes, sha256=files.list_sha256)
        with _open_part(self._handle, files.list_offset, self._manifest_offset) as part:
            for chunk in part.member(entry):
                *lines, rest = (rest + chunk).split(b"\n")
                if len(rest) > backup_format.MOST_LINE:
                    break
                for line in lines:
                    file_entry = parse_line(line)
                    # Compressed files come last. Keys have to grow, so no path occurs twice.
                    sort_key = backup_format.is_packed(file_entry.path), file_entry.path
                    if last_key is not None and sort_key <= last_key:
                        raise Refused(
                            _("The list contains a file twice or out of order: %(path)s") % {"path": file_entry.path}
                        )
                    last_key = sort_key
                    yield file_entry
        if rest:
            raise Refused(_("The list of files in this archive cannot be read."))

    def _find_manifest(self):
        data = os.pread(self._handle, TRAILER.size, max(0, self._end))
        if len(data) == TRAILER.size:
            magic, length, word, offset = TRAILER.unpack(data)
            if (magic, length, word) == (SKIPPED, TRAILER.size - 8, WORD) and offset < self._end:
                return offset
        raise Refused(self._describe_foreign_file())

    def _describe_foreign_file(self):
        """A sentence about a foreign file: its type, by its first bytes."""
        head = os.pread(self._handle, content_types.SNIFFED, 0)
        size = os.fstat(self._handle).st_size
        words = {"path": self.path, "type": content_types.guess(head, head, is_whole=size == len(head))}
        if not head:
            return _("%(path)s is not a backup of OpenClaw Web: it is empty.") % words
        if head.startswith(ZSTANDARD):
            whole = _("%(path)s is no whole backup of OpenClaw Web: its end is missing, or it is of another program.")
            return whole % words
        return _("%(path)s is not a backup of OpenClaw Web: by its content it is %(type)s.") % words

    def _offsets(self):
        """The offset of every part, in order."""
        files = self.manifest.files
        databases = [entry.offset for entry in self.manifest.databases]
        return [*databases, files.offset, files.list_offset, self._manifest_offset]


class Part:
    """The members between two offsets of a backup file, unpacked as they are read."""

    def __init__(self, handle: int, start: int, end: int):
        self._source = _Span(handle, start, end)
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._stream = unpacker.stream_reader(self._source, read_size=CHUNK // 4, read_across_frames=True)

    def member(self, entry: "FileEntry") -> Iterator[bytes]:
        """The bytes of the next member, which has to match `entry`."""
        header = self.header()
        if header.name != entry.path:
            names = {"found": repr(header.name)[:120], "wanted": entry.path}
            raise Refused(_("The archive contains %(found)s where the manifest lists %(wanted)s.") % names)
        if header.size != entry.bytes:
            raise Refused(_("The size of %(path)s differs from the manifest.") % {"path": entry.path})
        digest, remaining = hashlib.sha256(), entry.bytes
        while remaining:
            chunk = self.read(min(remaining, CHUNK))
            digest.update(chunk)
            remaining -= len(chunk)
            yield chunk
        self.skip_padding(entry.bytes)
        if digest.hexdigest() != entry.sha256:
            raise Refused(_("The hash of %(path)s differs from the manifest.") % {"path": entry.path})

    def header(self) -> tarfile.TarInfo:
        """The header of the next member. Raises Refused when it is not a plain file."""
        try:
            header = tarfile.TarInfo.frombuf(self.read(BLOCK), "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as exc:
            raise Refused(_("The archive is damaged: an entry has no readable header.")) from exc
        path = {"path": repr(header.name)[:120]}
        if header.type in LINKS:
            raise Refused(_("The archive contains a link: %(path)s") % path)
        if header.type in DEVICES:
            raise Refused(_("The archive contains a device: %(path)s") % path)
        if header.type != tarfile.REGTYPE or header.size < 0:
            raise Refused(_("The archive contains something that is not a plain file: %(path)s") % path)
        return header

    def read(self, size: int) -> bytes:
        """Read exactly `size` bytes. Raises Refused when there are fewer."""
        pieces, remaining = [], size
        while remaining:
            piece = self._unpack(remaining)
            if not piece:
                raise Refused(_("The archive is cut short."))
            pieces.append(piece)
            remaining -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def skip_padding(self, size: int) -> None:
        if any(self.read(-size % BLOCK)):
            raise Refused(_("The archive is damaged: there is unexpected data between its files."))

    def finish(self) -> None:
        """Raise Refused when the part has more bytes than were read."""
        if self._unpack(1) or self._source.bytes_left:
            raise Refused(_("The archive contains more than its manifest declares."))

    def _unpack(self, most):
        try:
            return self._stream.read(most)
        except zstandard.ZstdError as exc:
            raise Refused(_("The archive is damaged and cannot be unpacked.")) from exc


def read_member(handle: int, start: int, end: int, entry: "FileEntry") -> Iterator[bytes]:
    """The bytes of a member that is a whole part, also of an unfinished file."""
    with _open_part(handle, start, end) as part:
        yield from part.member(entry)


@contextmanager
def _open_part(handle, start, end) -> Iterator[Part]:
    part = Part(handle, start, end)
    yield part
    part.finish()


class _Span:
    """A range of a file as a readable object with its own position."""

    def __init__(self, handle, start, end):
        self._handle, self._place, self._end = handle, start, end

    @property
    def bytes_left(self):
        return self._end - self._place

    def read(self, size=-1):
        size = self.bytes_left if size < 0 else min(size, self.bytes_left)
        data = os.pread(self._handle, size, self._place)
        self._place += len(data)
        return data


@contextmanager
def open_backup(path: Path) -> Iterator[Archive]:
    """Open the backup file at `path`. Raises Refused when there is no backup."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as exc:
        sentence = _("The archive %(path)s cannot be opened: %(why)s.")
        raise Refused(sentence % {"path": path, "why": reasons.describe_os_error(exc)}) from exc
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused(_("%(path)s is not a file.") % {"path": path})
        yield Archive(path, handle)
    finally:
        os.close(handle)


def drain(chunks: Iterable[bytes]) -> None:
    """Read all chunks, for the checks that reading makes."""
    for _chunk in chunks:
        pass
