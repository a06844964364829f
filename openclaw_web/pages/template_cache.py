"""Templates that were compiled before: a start of the site need not compile them again.

What is kept is code, and whoever could write it could run it here. So it is read only from a folder and files that
belong to this user and that nobody else may write, and only whole: each begins with the hash of the rest.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

NAME = "templates-"
HASH_BYTES = 32
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe that somebody put there does not hold us up
DRAFT_SECONDS = 3600  # a younger one is being written
OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class TemplateCache(BytecodeCache):
    """Code of templates in `<folder>/templates-<hash>`; the hash stands for what it depends on besides their source.

    Where nothing can be read or written, templates are compiled as if there were no such folder.
    """

    def __init__(self, folder: Path, options: object):
        about = f"{jinja2.__version__} {options!r}"
        self.folder = folder / f"{NAME}{hashlib.sha256(about.encode()).hexdigest()[:16]}"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with what was kept; what is damaged, or may be somebody else's, is left alone."""
        kept = self._read(bucket.key)
        if kept and hashlib.sha256(kept[HASH_BYTES:]).digest() == kept[:HASH_BYTES]:
            bucket.bytecode_from_string(kept[HASH_BYTES:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket: whole, or not at all."""
        code = bucket.bytecode_to_string()
        with suppress(OSError):  # a full disk, a folder that cannot be written: the next start compiles again
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._write(self.folder / bucket.key, hashlib.sha256(code).digest() + code)

    def clear(self) -> None:
        """Remove what is kept."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def tidy(self) -> None:
        """Remove the folders of other versions, and drafts of processes that were killed."""
        for folder in self.folder.parent.glob(f"{NAME}*"):
            if folder != self.folder and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
        for draft in self.folder.glob(".*"):
            with suppress(OSError):
                if draft.lstat().st_mtime < time.time() - DRAFT_SECONDS:
                    draft.unlink()

    def _read(self, name):
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            if not _is_ours(folder):
                return None
            with os.fdopen(os.open(name, READ, dir_fd=folder), "rb") as file:
                return file.read() if _is_ours(file.fileno()) and _is_file(file.fileno()) else None
        except OSError:
            return None
        finally:
            os.close(folder)

    def _write(self, place, content):
        handle, draft = tempfile.mkstemp(dir=place.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(draft).replace(place)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise


def _is_ours(handle):
    found = os.fstat(handle)
    return found.st_uid == os.geteuid() and not found.st_mode & OF_OTHERS


def _is_file(handle):
    return stat.S_ISREG(os.fstat(handle).st_mode)
