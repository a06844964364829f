"""Stores compiled templates, so that a start of the site need not compile them again.

The stored files are code, and anybody who could write them could run code here. So they are read only from a folder and
files that belong to this user and that nobody else may write. A file is read only if it is whole: it begins with the
hash of the rest.
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
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe in its place does not block the read
DRAFT_SECONDS = 3600  # a younger draft may still be written
OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class TemplateCache(BytecodeCache):
    """Compiled templates in `<folder>/templates-<hash>`.

    The hash stands for everything besides their source that the code depends on.

    Where nothing can be read or written, templates are compiled as if there were no such folder.
    """

    def __init__(self, folder: Path, options: object):
        version = f"{jinja2.__version__} {options!r}"
        self.folder = folder / f"{NAME}{hashlib.sha256(version.encode()).hexdigest()[:16]}"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with stored code.

        Damaged files, and files that another user could have written, are ignored.
        """
        stored = self._read(bucket.key)
        if stored and hashlib.sha256(stored[HASH_BYTES:]).digest() == stored[:HASH_BYTES]:
            bucket.bytecode_from_string(stored[HASH_BYTES:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the code of a bucket, as a whole file or not at all."""
        code = bucket.bytecode_to_string()
        with suppress(OSError):  # a full disk, a folder that cannot be written: the next start compiles again
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._write(self.folder / bucket.key, hashlib.sha256(code).digest() + code)

    def clear(self) -> None:
        """Remove the stored code."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def tidy(self) -> None:
        """Remove the folders of other versions, and drafts of killed processes."""
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
                is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                return file.read() if is_file and _is_ours(file.fileno()) else None
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
    status = os.fstat(handle)
    return status.st_uid == os.geteuid() and not status.st_mode & OF_OTHERS
