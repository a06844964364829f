"""Proving an archive: every database is opened out of it, every file is hashed."""

import hashlib
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from artifacts import handles
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import database_copies

from . import backup_paths, backup_reader, manifest
from .backup_reader import Archive

AT_ONCE = 2
ARTIFACTS = "artifacts"  # the table whose rows refer to contents
LACKS_NAMED = 3
NOTING = Lock()  # several databases are looked at together
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
DAMAGED_NAMED = 100


@dataclass(slots=True)
class VerificationResult:
    """What was read: how many files and bytes, contents of artifacts, and what rows of the databases refer to.

    `damaged` are contents that are not what their name says.
    """

    files: int = 0
    bytes: int = 0
    tables: int = 0
    rows: int = 0
    damaged: list[str] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)
    contents: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """Contents that rows refer to and that are not there; the first DAMAGED_NAMED."""
        return sorted(self.referred - self.contents)[:DAMAGED_NAMED]

    @property
    def lacks(self) -> str:
        """What is not as the rows say, in a sentence; empty when every content is there and sound."""
        if not (self.damaged or self.missing):
            return ""
        words = {"missing": len(self.referred - self.contents), "damaged": len(self.damaged)}
        names = [handles.from_sha256(sha256) for sha256 in (*self.missing, *self.damaged)]
        words["named"] = listed([*names[:LACKS_NAMED], *(["…"] if len(names) > LACKS_NAMED else [])])
        return _("Artifacts without content: %(missing)s. Damaged: %(damaged)s. %(named)s") % words


def unpack(archive: Archive, folder: Path, progress: Any) -> VerificationResult:
    """Unpack everything into the empty `folder` and check it. Raises Refused for the first thing that is wrong."""
    found = _databases(archive, folder, progress, is_kept=True)
    return read_files(archive, found, progress, folder=folder)


def verify(archive: Archive, folder: Path, progress: Any) -> VerificationResult:
    """Check everything; databases are unpacked into `folder` for that, one after the other, and removed."""
    found = _databases(archive, folder, progress, is_kept=False)
    return read_files(archive, found, progress)


def verify_database(
    path: str, chunks: Iterator[bytes], folder: Path, found: VerificationResult, *, is_kept: bool = False
) -> database_copies.CopyState:
    """Open one database out of an archive: what is in it; what its rows refer to is noted in `found`.

    Raises Refused when its bytes or its pages are damaged.
    """
    file = folder / path
    write_file(file, chunks)
    look = inspect_database(file, path)
    handles_in = database_copies.read_values(file, ARTIFACTS, "handle") if ARTIFACTS in look.rows else []
    with NOTING:
        found.referred.update(handle[-64:] for handle in handles_in)
        found.tables += len(look.rows)
        found.rows += sum(look.rows.values())
    if not is_kept:
        file.unlink()
    return look


def reopen_databases(archive: Archive, folder: Path) -> None:
    """Open every database of an archive where it was unpacked. Raises Refused when one is damaged."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda entry: inspect_database(folder / entry.path, entry.path), archive.manifest.databases))


def inspect_database(file: Path, name: str) -> database_copies.CopyState:
    """What is in a database that nobody uses. Raises Refused when it is damaged."""
    try:
        look = database_copies.inspect_copy(file)
    except DatabaseError as exc:
        raise Refused(_("%(path)s is not a readable database: %(why)s") % {"path": name, "why": exc}) from exc
    if look.integrity != "ok":
        raise Refused(_("%(path)s is damaged: %(why)s") % {"path": name, "why": look.integrity[:300]})
    return look


def read_files(
    archive: Archive, found: VerificationResult, progress: Any, *, folder: Path | None = None
) -> VerificationResult:
    """Read and hash every file that is no database, and unpack it when there is a `folder`; `found`, with them."""
    before = sum(entry.bytes for entry in archive.manifest.databases)
    for entry, chunks in archive.files():
        checked = compare_content(entry.path, chunks, found)
        if folder:
            write_file(folder / entry.path, checked)
        else:
            backup_reader.drain(checked)
        found.files += 1
        found.bytes += entry.bytes
        if sha256 := backup_paths.get_blob_hash(entry.path):
            found.contents.add(sha256)
        progress.update(before + found.bytes, archive.manifest.unpacked_bytes)
    return found


def write_file(file: Path, chunks: Iterator[bytes]) -> None:
    """Write a file that must not be there yet, for its owner alone."""
    try:
        handle = os.open(file, NEW, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, NEW, 0o600)
    with os.fdopen(handle, "wb", buffering=0) as target:
        for chunk in chunks:
            left = memoryview(chunk)
            while left:
                left = left[target.write(left) :]


def _databases(archive, folder, progress, *, is_kept):
    entries, found = archive.manifest.databases, VerificationResult()
    for entry in entries:
        manifest.refuse_another(entry.migrations)

    def opened(entry):
        return verify_database(entry.path, archive.database(entry), folder, found, is_kept=is_kept)

    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for entry, look in zip(entries, pool.map(opened, entries), strict=True):
                _compare(entry, look)
                done += entry.bytes
                message = _("Checked %(path)s") % {"path": entry.path}
                progress.update(done, archive.manifest.unpacked_bytes, message)
        finally:
            pool.shutdown(cancel_futures=True)
    return found


def _compare(entry, look):
    if look.rows != entry.rows or look.migrations != entry.migrations:
        raise Refused(_("The rows of %(path)s differ from the manifest.") % {"path": entry.path})


def compare_content(path: str, chunks: Iterator[bytes], found: VerificationResult) -> Iterator[bytes]:
    """The same bytes; on the way the content of an artifact is compared with its name."""
    wanted = backup_paths.get_blob_hash(path)
    if wanted is None:
        yield from chunks
        return
    digest, unpacker = hashlib.sha256(), _Gunzip() if backup_paths.is_packed(path) else None
    for chunk in chunks:
        for piece in unpacker.feed(chunk) if unpacker else (chunk,):
            digest.update(piece)
        yield chunk
    is_damaged = digest.hexdigest() != wanted or (unpacker and unpacker.is_broken)
    if is_damaged and len(found.damaged) < DAMAGED_NAMED:
        found.damaged.append(wanted)


class _Gunzip:
    """Gzip members unpacked as they come, a megabyte at a time, however much they promise."""

    MOST = 1024 * 1024

    def __init__(self):
        self._unpacker = zlib.decompressobj(wbits=31)
        self.is_broken = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and not self.is_broken:
            if self._unpacker.eof:
                self._unpacker = zlib.decompressobj(wbits=31)
            try:
                piece = self._unpacker.decompress(chunk, self.MOST)
            except zlib.error:
                self.is_broken = True
                return
            chunk = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            yield piece
