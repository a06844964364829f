"""Accounts of people in folders of their own, for tests of what the product leaves there."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.processes import CHECKOUT, HANG


class Account:
    """The account of a person, in a folder of its own, who types commands of openclaw-web."""

    prefix = ()

    def __init__(self, folder):
        self.folder, self.python = folder, [sys.executable]
        folder.mkdir()
        ours = ("OPENCLAW", "DJANGO", "XDG", "BASH_COMPLETION", "FPATH")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.env |= {"HOME": str(folder), "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir()

    def run(self, *words, statuses=(0,)):
        command = [*self.prefix, *self.python, "-m", "openclaw_web", *map(str, words)]
        done = subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=HANG)
        assert done.returncode in statuses and "Traceback" not in done.stderr, (words, done.stdout, done.stderr)
        return done.stdout

    def check(self):
        return orjson.loads(self.run("uninstall", "--check", "--json"))

    def list_files(self):
        """Every file below the account, links and odd files included, with its size and times."""
        files = {}
        for folder, folders, names in os.walk(self.folder):
            for name in (*names, *folders):
                status = Path(folder, name).lstat()
                if name.endswith("-shm"):  # memory that processes of SQLite share, and no content
                    continue
                if name in names or Path(folder, name).is_symlink():
                    files[Path(folder, name)] = (status.st_size, status.st_mtime_ns, status.st_ino)
        return files


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "person")
