"""Verifies a backup file: reads every database from it and hashes every file."""

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

from . import backup_format, backup_reader
from .backup_reader import Archive

AT_ONCE = 2
SEALS = "release_seals"
ARTIFACTS = "artifacts"  # the table whose rows refer to contents of artifacts
LACKS_NAMED = 3
NOTING = Lock()  # several databases are verified at the same time
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
DAMAGED_NAMED = 100


@dataclass(slots=True)
class VerificationResult:
    """The result of a verification: counts, contents of artifacts, and contents that rows refer to.

    `damaged` are contents whose hash is not the one in their name.
    """

    files: int = 0
    bytes: int = 0
    tables: int = 0
    rows: int = 0
    damaged: list[str] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)
    contents: set[str] = field(default_factory=set)
    releases: dict[str, str] = field(default_factory=dict)  # SHA-256 of the seal of each release

    @property
    def missing(self) -> list[str]:
        """Contents that rows refer to and that are missing; the first DAMAGED_NAMED."""
        return sorted(self.referred - self.contents)[:DAMAGED_NAMED]

    @property
    def lacks(self) -> str:
        """A sentence about missing and damaged contents; empty when there are none."""
        if not (self.damaged or self.missing):
            return ""
        words = {"missing": len(self.referred - self.contents), "damaged": len(self.damaged)}
        names = [handles.from_sha256(sha256) for sha256 in (*self.missing, *self.damaged)]
        words["named"] = listed([*names[:LACKS_NAMED], *(["…"] if len(names) > LACKS_NAMED else [])])
        return _("Artifacts without content: %(missing)s. Damaged: %(damaged)s. %(named)s") % words


def unpack(archive: Archive, folder: Path, progress: Any) -> VerificationResult:
    """Unpack everything into the empty `folder` and check it. Raises Refused for the first mistake."""
    result = _verify_databases(archive, folder, progress, is_kept=True)
    return read_files(archive, result, progress, folder=folder)


def verify(archive: Archive, folder: Path, progress: Any) -> VerificationResult:
    """Check everything; databases are unpacked into `folder` in turn and removed."""
    result = _verify_databases(archive, folder, progress, is_kept=False)
    return read_files(archive, result, progress)


def verify_database(
    path: str, chunks: Iterator[bytes], folder: Path, result: VerificationResult, *, is_kept: bool = False
) -> database_copies.CopyState:
    """Unpack and check one database; returns its state, and adds its references to `result`.

    Raises Refused when its bytes or its pages are damaged.
    """
    file = folder / path
    write_file(file, chunks)
    state = inspect_database(file, path)
    handles_in = database_copies.read_values(file, ARTIFACTS, "handle") if ARTIFACTS in state.rows else []
    sealed = database_copies.read_seals(file) if SEALS in state.rows else []
    with NOTING:
        result.releases.update(sealed)
        result.referred.update(handle[-64:] for handle in handles_in)
        result.tables += len(state.rows)
        result.rows += sum(state.rows.values())
    if not is_kept:
        file.unlink()
    return state


def reopen_databases(archive: Archive, folder: Path) -> None:
    """Open every unpacked database of a backup again. Raises Refused when one is damaged."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda entry: inspect_database(folder / entry.path, entry.path), archive.manifest.databases))


def inspect_database(file: Path, name: str) -> database_copies.CopyState:
    """The state of a database that is not in use. Raises Refused when it is damaged."""
    try:
        state = database_copies.inspect_copy(file)
    except DatabaseError as exc:
        raise Refused(_("%(path)s is not a readable database: %(why)s") % {"path": name, "why": exc}) from exc
    if state.integrity != "ok":
        raise Refused(_("%(path)s is damaged: %(why)s") % {"path": name, "why": state.integrity[:300]})
    return state


def read_files(
    archive: Archive, result: VerificationResult, progress: Any, *, folder: Path | None = None
) -> VerificationResult:
    """Hash every file that is not a database, and unpack it with `folder`; returns `result`."""
    database_bytes = sum(entry.bytes for entry in archive.manifest.databases)
    for entry, chunks in archive.files():
        checked = compare_content(entry.path, chunks, result)
        if folder:
            write_file(folder / entry.path, checked)
        else:
            backup_reader.drain(checked)
        result.files += 1
        result.bytes += entry.bytes
        if sha256 := backup_format.get_blob_hash(entry.path):
            result.contents.add(sha256)
        progress.update(database_bytes + result.bytes, archive.manifest.unpacked_bytes)
    return result


def write_file(file: Path, chunks: Iterator[bytes]) -> None:
    """Write a new file that only its owner can read."""
    try:
        handle = os.open(file, NEW, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, NEW, 0o600)
    with os.fdopen(handle, "wb", buffering=0) as target:
        for chunk in chunks:
            remaining = memoryview(chunk)
            while remaining:
                remaining = remaining[target.write(remaining) :]


def _verify_databases(archive, folder, progress, *, is_kept):
    entries, result = archive.manifest.databases, VerificationResult()
    for entry in entries:
        entry.refuse_another()

    def verify_entry(entry):
        return verify_database(entry.path, archive.database(entry), folder, result, is_kept=is_kept)

    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for entry, state in zip(entries, pool.map(verify_entry, entries), strict=True):
                if state.rows != entry.rows or state.migrations != entry.migrations:
                    raise Refused(_("The rows of %(path)s differ from the manifest.") % {"path": entry.path})
                done += entry.bytes
                message = _("Checked %(path)s") % {"path": entry.path}
                progress.update(done, archive.manifest.unpacked_bytes, message)
        finally:
            pool.shutdown(cancel_futures=True)
    if result.releases != archive.manifest.releases:
        raise Refused(_("The seals of releases differ from the manifest."))
    return result


def compare_content(path: str, chunks: Iterator[bytes], result: VerificationResult) -> Iterator[bytes]:
    """Yield the same bytes, and compare an artifact's content with its name meanwhile."""
    expected_hash = backup_format.get_blob_hash(path)
    if expected_hash is None:
        yield from chunks
        return
    digest, unpacker = hashlib.sha256(), _Gunzip() if backup_format.is_packed(path) else None
    for chunk in chunks:
        for piece in unpacker.feed(chunk) if unpacker else (chunk,):
            digest.update(piece)
        yield chunk
    is_damaged = digest.hexdigest() != expected_hash or (unpacker and unpacker.is_broken)
    if is_damaged and len(result.damaged) < DAMAGED_NAMED:
        result.damaged.append(expected_hash)


class _Gunzip:
    """Unpacks gzip members in steps of a megabyte, whatever size they declare."""

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
