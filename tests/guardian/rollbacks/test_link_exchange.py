"""Rollbacks on a kernel that exchanges no files lose no write of an agent.

The agent writes between two of our calls.
"""

import errno
import os

import pytest

from guardian.models import FileSnapshot, Rollback, RollbackIntent
from guardian.rollbacks import workspace
from guardian.rollbacks.service import FileChanged
from guardian.rollbacks.workspace import NotWritten
from guardian.services import read_version_bytes
from tests import faults

from .rolled_back_writes import DB, NAME, create_write, get_write, roll_back

pytestmark = pytest.mark.django_db
UNKNOWN = 1 << 30  # a flag that every kernel refuses, as file systems do that know neither call
# The audit event of Python just before each call of an exchange.
CALLS = {
    "try a link": ("os.link", lambda path: path.endswith(".rollback")),
    "move away": ("os.rename", lambda path: path == NAME),
    "link": ("os.link", lambda path: path.endswith(".rollback")),
    "end": ("os.rename", lambda path: path.endswith(".old")),
}


@pytest.fixture(autouse=True)
def switched_off(monkeypatch):
    monkeypatch.setattr(workspace, "RENAME_EXCHANGE", UNKNOWN)
    monkeypatch.setattr(workspace, "RENAME_NOREPLACE", UNKNOWN)


def renames_over(file, data=b"agent\n"):
    draft = file.parent / "agent"
    draft.write_bytes(data)
    draft.replace(file)


def in_place(file, data=b"agent\n"):
    file.write_bytes(data)


class WriteJustBefore:
    """Lets an agent write just before one of our calls.

    Of two calls of the same kind it is the second.
    """

    def __init__(self, call, write):
        self.event, self.is_it = CALLS[call]
        self.skipped, self.write, self.was_there = call == "link", write, False

    def __enter__(self):
        self.files = faults.watch_files(self._heard)
        self.files.__enter__()

    def __exit__(self, *failure):
        self.files.__exit__(*failure)
        assert self.was_there, "what was waited for never happened"

    def _heard(self, event, path):
        if event != self.event or not self.is_it(path) or self.was_there:
            return
        if self.skipped:
            self.skipped = False
            return
        self.was_there = True
        self.write()


def read_contents():
    return [read_version_bytes(snapshot) for snapshot in FileSnapshot.objects.using(DB)]


def names(file):
    return sorted(path.name for path in file.parent.iterdir())


def test_every_kind_of_rollback_works(ada, file):
    create_write(file, 1, b"a\n", b"b\n")
    file.chmod(0o640)
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\n" and file.stat().st_mode & 0o777 == 0o640 and file.stat().st_nlink == 1
    create_write(file, 2, None, b"new\n")
    roll_back(ada, 2)
    assert names(file) == [] and get_write("w2").status == "rolled_back"


@pytest.mark.parametrize("write", [renames_over, in_place])
@pytest.mark.parametrize("call", ["try a link", "move away", "end"])
def test_who_writes_between_two_calls_loses_nothing(ada, file, call, write):
    create_write(file, 1, b"a\n", b"b\n")
    with WriteJustBefore(call, lambda: write(file)):
        result = roll_back(ada, 1)
    is_after = call == "end"  # then it wrote over what the rollback had put there
    assert file.read_bytes() == (b"agent\n" if is_after else b"a\n")
    assert b"agent\n" in [file.read_bytes(), *read_contents()] and len(result.meanwhile) == (not is_after)
    assert names(file) == [NAME] and file.stat().st_nlink == 1


@pytest.mark.parametrize("write", [renames_over, in_place])
def test_who_makes_a_new_file_while_there_is_none_keeps_it(ada, file, write):
    create_write(file, 1, b"a\n", b"b\n")
    with (
        WriteJustBefore("link", lambda: write(file)),
        pytest.raises(FileChanged, match="has changed since the preview"),
    ):
        roll_back(ada, 1)
    assert file.read_bytes() == b"agent\n" and names(file) == [NAME]
    assert get_write("w1").status == "written" and not Rollback.objects.using(DB).exists()
    assert not RollbackIntent.objects.using(DB).filter(ended_at=None).exists()


def test_the_two_step_case_loses_neither_file(ada, file):
    """The agent replaces the file before it is moved away, and again before the link."""
    create_write(file, 1, b"a\n", b"b\n")
    with (
        WriteJustBefore("move away", lambda: renames_over(file, b"first\n")),
        WriteJustBefore("link", lambda: renames_over(file, b"second\n")),
        pytest.raises(FileChanged),
    ):
        roll_back(ada, 1)
    assert file.read_bytes() == b"second\n" and b"first\n" in read_contents() and names(file) == [NAME]


def test_a_file_that_goes_takes_nobodys_new_one_with_it(ada, file):
    create_write(file, 1, None, b"b\n")
    with WriteJustBefore("move away", lambda: renames_over(file)):
        result = roll_back(ada, 1)
    assert names(file) == [] and b"agent\n" in read_contents() and len(result.meanwhile) == 1


def test_what_cannot_be_linked_at_the_last_moment_is_put_back(ada, file):
    create_write(file, 1, b"a\n", b"b\n")

    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with WriteJustBefore("link", full), pytest.raises(NotWritten, match="was not written"):
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n" and names(file) == [NAME] and get_write("w1").status == "written"


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
@pytest.mark.parametrize("before", [b"a\n", None])
def test_where_links_are_missing_too_nothing_is_touched(ada, file, before, code):
    create_write(file, 1, before, b"b\n")

    def refuse():
        raise OSError(code, os.strerror(code))

    is_ours = (lambda path: path == NAME) if before is None else CALLS["try a link"][1]
    with (
        faults.before_file_event("os.link", is_ours, refuse),
        pytest.raises(NotWritten, match="neither exchange two files nor give a file a second name"),
    ):
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n" and names(file) == [NAME] and get_write("w1").status == "written"


@pytest.mark.parametrize("make", [lambda file: file.mkdir(), lambda file: file.symlink_to("nowhere")])
@pytest.mark.parametrize("before", [b"a\n", None])
def test_what_is_no_file_at_the_last_moment_is_put_back(ada, file, before, make):
    create_write(file, 1, before, b"b\n")
    with WriteJustBefore("move away", lambda: (file.unlink(), make(file))), pytest.raises(NotWritten):
        roll_back(ada, 1)
    assert names(file) == [NAME] and (file.is_dir() or file.is_symlink()) and get_write("w1").status == "written"
