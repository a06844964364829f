"""Packs source files into an archive before an import, and moves or removes them afterwards."""

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard
from django.utils.translation import gettext as _

from agents.homes import NotReadable, open_regular
from openclaw_web import reasons
from openclaw_web.disk import publication, room
from openclaw_web.disk.drafts import create_draft, sync_folder
from openclaw_web.errors import Refused

from .import_preview import hash_source

KEEP, ARCHIVE, REMOVE = "keep", "archive", "remove"
CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """A verified archive of source files: its path, hashes by path, and skipped files with reasons."""

    path: Path
    sha256: str
    files: dict[str, str]
    skipped: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "sha256": self.sha256, "files": len(self.files)}


def pack(root: Path, names: list[str], folder: Path, run_id: str) -> SourceArchive:
    """Pack files of the home `root` into an archive in `folder` and verify it. Raises Refused.

    A file that is missing by now, or cannot be read, is skipped.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    room.check(folder, sum(map(_get_size, (root / name for name in names))) // 4)
    target = folder / f"openclaw-sources-{run_id}.tar.zst"
    with room.refuse_when_full(folder, _("Nothing was imported.")), create_draft(folder / "sources") as draft:
        path = draft / "archive"
        hashes, skipped = _write_archive(root, names, path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        if dict(_read_hashes(path)) != hashes:
            raise Refused(_("The archive of the source files does not contain what was packed. Nothing was imported."))
        path.rename(target)
        sync_folder(folder)
    return SourceArchive(target, digest.hexdigest(), hashes, skipped)


def _get_size(file):
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _write_archive(root, names, path):
    hashes, skipped = {}, {}
    with path.open("xb") as raw:
        publication.restrict(path, 0o600)
        with (
            zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name in names:
                try:
                    with open_regular(root, root / name) as file:
                        hashes[name] = _add_file(archive, name, file)
                except NotReadable as exc:
                    skipped[name] = str(exc)
        raw.flush()
        os.fsync(raw.fileno())
    return hashes, skipped


def _add_file(archive, name, file):
    status = os.fstat(file.fileno())
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = status.st_size, int(status.st_mtime), 0o600
    reader = _Hashing(file, status.st_size)
    archive.addfile(entry, reader)
    return reader.digest.hexdigest()


class _Hashing:
    """Reads exactly `size` bytes of a file and hashes them."""

    def __init__(self, file, size):
        self._file, self._remaining, self.digest = file, size, hashlib.sha256()

    def read(self, size=-1):
        chunk = self._file.read(self._remaining if size < 0 else min(size, self._remaining))
        if not chunk and self._remaining:
            raise Refused(_("A source file became shorter while being packed. Nothing was imported."))
        self._remaining -= len(chunk)
        self.digest.update(chunk)
        return chunk


def _read_hashes(path) -> Iterator[tuple[str, str]]:
    with (
        path.open("rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|") as archive,
    ):
        for entry in archive:
            file = archive.extractfile(entry) or io.BytesIO()
            yield entry.name, hashlib.file_digest(file, "sha256").hexdigest()


def remove_file(root: Path, name: str, sha256: str, *, target: Path | None) -> None:
    """Remove a source file that still has this hash; with `target` it is copied first.

    Raises Refused when the file has changed or cannot be removed; then it stays in place.
    """
    file = root / name
    try:
        before = file.lstat()
        if target is not None:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.draft")
            with open_regular(root, file) as source, draft.open("wb") as copy:
                publication.restrict(draft, 0o600)
                shutil.copyfileobj(source, copy, CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
            if hash_source(target.parent, draft) != sha256:
                draft.unlink()
                raise Refused(_("The file changed during the import."))
            draft.rename(target)
            sync_folder(target.parent)
        if hash_source(root, file) != sha256:
            raise Refused(_("The file changed during the import."))
        # Remove the file only when it is the one that was checked, in the same folder.
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            now = os.stat(file.name, dir_fd=folder, follow_symlinks=False)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
                raise Refused(_("The file changed during the import."))
            os.unlink(file.name, dir_fd=folder)
            with suppress(OSError):
                os.fsync(folder)
        finally:
            os.close(folder)
    except NotReadable as exc:
        raise Refused(str(exc)) from exc
    except OSError as exc:
        raise Refused(reasons.describe_os_error(exc)) from exc
