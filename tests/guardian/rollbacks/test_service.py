"""Rolling back a write to a real file: the old content returns, agents lose nothing."""

import errno
import os
from copy import copy

import pytest

from guardian.models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import Report, Source
from guardian.rollbacks import rollback_plan, service, workspace, workspace_access
from guardian.rollbacks.service import RollbackRequest
from guardian.services import read_version_bytes
from people.configuration import setting_values as configuration
from tests import faults

from .rolled_back_writes import DB, NAME, T0, create_write, get_write, report_write, roll_back

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("before", [b"# Facts\n", b"\xff\x00\r\nno end", b""])
def test_it_works(ada, file, before):
    create_write(file, 1, before, before + b"\nLikes tea.\n")
    result = roll_back(ada, 1)
    assert file.read_bytes() == before and os.listdir(file.parent) == [NAME]
    assert result.success and result.restored_to == get_write("w1").before_snapshot.created_at and not result.meanwhile
    assert get_write("w1").status == "rolled_back"
    done = Rollback.objects.using(DB).get()
    assert (done.id, done.audit_id, done.rolled_back_by, done.reason, done.previous_status, done.way) == (
        result.rollback_id, "w1", "otto", "wrong", "written", "exact",
    )  # fmt: skip
    assert read_version_bytes(done.restored_snapshot) == before
    assert RollbackIntent.objects.using(DB).get().state == "done"


def test_a_file_that_was_new_goes(ada, file):
    create_write(file, 1, None, b"new\n")
    assert roll_back(ada, 1).restored_to == "removed"
    assert not file.exists() and os.listdir(file.parent) == []
    assert Rollback.objects.using(DB).get().restored_snapshot is None


def test_a_rollback_is_rolled_back_and_the_write_stays_so(ada, file):
    create_write(file, 1, b"one\n", b"two\n")
    roll_back(ada, 1)
    own = Rollback.objects.using(DB).get().own_audit
    seen = rollback_plan.plan_rollback(ada, own.id).seen
    service.roll_back(ada, own.id, RollbackRequest("otto", "it was right"), seen=seen)
    assert file.read_bytes() == b"two\n"
    assert get_write("w1").status == get_write(own.id).status == "rolled_back"


def test_later_lines_stay(ada, file):
    create_write(file, 1, b"a\nb\nc\nd\n", b"a\nB\nc\nd\n")
    create_write(file, 2, b"a\nB\nc\nd\n", b"a\nB\nc\nd\ne\n")
    assert rollback_plan.plan_rollback(ada, "w1").has_changed
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\nb\nc\nd\ne\n"
    assert Rollback.objects.using(DB).get().way == "merged"


@pytest.mark.parametrize("now", [b"other\n", b"", None])
def test_where_nothing_is_to_be_taken_out_the_file_stays(ada, file, now):
    report_write(file, 1, b"a\n", b"a\n")
    report_write(file, 2, b"", b"line\n")  # its line went with the file, or with all lines
    file.unlink() if now is None else file.write_bytes(now)
    roll_back(ada, 1)
    if now != b"other\n":
        roll_back(ada, 2)
    assert (file.read_bytes() if file.exists() else None) == now and os.listdir(file.parent) == [NAME] * file.exists()


def test_one_hunk_leaves_the_rest_of_the_write(ada, file):
    create_write(file, 1, b"a\nb\nc\nd\ne\n", b"A\nb\nc\nd\nE\n")
    roll_back(ada, 1, hunk=1)
    assert file.read_bytes() == b"A\nb\nc\nd\ne\n" and get_write("w1").status == "written"
    assert WriteGuardianAudit.objects.using(DB).filter(origin="rollback").count() == 1
    roll_back(ada, 1)  # takes back the other change: the first is done
    assert file.read_bytes() == b"a\nb\nc\nd\ne\n" and get_write("w1").status == "rolled_back"


def _second_name(draft, file):
    os.link(draft, file.parent / "again")


def _longer(draft, _file):
    draft.write_bytes(b"x" * (workspace.MOST_BYTES + 1))


def _folder(draft, _file):
    draft.unlink(), draft.mkdir()


def _link(draft, _file):
    draft.unlink(), draft.symlink_to("/etc/hostname")


def _pipe(draft, _file):
    draft.unlink(), os.mkfifo(draft)


@pytest.mark.parametrize("make", [_second_name, _longer, _folder, _link, _pipe])
def test_whatever_an_agent_makes_of_a_displaced_file_the_rollback_ends(ada, file, make):
    create_write(file, 1, b"a\n", b"b\n")
    with faults.before_statement(
        DB, lambda sql: sql.startswith('INSERT INTO "rollbacks"'), lambda: make(_find_draft(file), file)
    ):
        version_ids = roll_back(ada, 1).meanwhile
    assert file.read_bytes() == b"a\n" and RollbackIntent.objects.using(DB).get().state == "done"
    assert [
        len(read_version_bytes(FileSnapshot.objects.using(DB).get(id=version_id))) for version_id in version_ids
    ] == ([workspace.MOST_BYTES + 1] if make is _longer else [])
    create_write(file, 2, b"a\n", b"c\n")
    roll_back(ada, 2)
    assert file.read_bytes() == b"a\n"


def _find_draft(file):
    (draft,) = file.parent.glob(".*.rollback")
    return draft


def test_an_exchange_that_cannot_be_put_on_the_disk_is_taken_back(ada, file, monkeypatch):
    real, failures = os.fsync, [OSError(errno.EIO, "Input/output error")]

    def fsync(handle):
        if failures and os.path.isdir(f"/proc/self/fd/{handle}"):
            raise failures.pop()
        real(handle)

    create_write(file, 1, b"a\n", b"b\n")
    with monkeypatch.context() as patched, pytest.raises(workspace.NotWritten):
        patched.setattr(os, "fsync", fsync)
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n" and os.listdir(file.parent) == [NAME]
    assert get_write("w1").status == "written" and RollbackIntent.objects.using(DB).get().state == "undone"
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\n"


@pytest.mark.parametrize("before", [b"a\n", None])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("moment", ["intended", "read"])
def test_what_takes_the_place_of_the_file_before_the_exchange_stays(ada, file, tmp_path, before, kind, moment):
    create_write(file, 1, before, b"b\n")
    make = {"link": lambda: file.symlink_to(tmp_path), "pipe": lambda: os.mkfifo(file), "folder": file.mkdir}[kind]

    def swap():
        file.unlink(), make()

    if moment == "intended":
        swapped = faults.before_statement(DB, lambda sql: sql.startswith('INSERT INTO "rollback_intents"'), swap)
    else:  # next comes the exchange, or the file is moved aside
        swapped = faults.before_file_event("ctypes.dlopen", lambda _path: True, swap)
    with swapped, pytest.raises(workspace.NotOurs):
        roll_back(ada, 1)
    assert os.listdir(file.parent) == [NAME] and not file.is_file()
    assert not RollbackIntent.objects.using(DB).exclude(state="undone").exists()
    assert not Rollback.objects.using(DB).exists()


def test_nobody_tells_of_what_this_site_did(ada, file):
    """An agent that sees the draft cannot report the rollback as a write of its own.

    The agent may write what it likes into a database that is imported.
    """
    create_write(file, 1, b"a\n", b"b\n")
    drafts = []
    with faults.watch_files(lambda event, path: event == "open" and path.endswith(".rollback") and drafts.append(path)):
        own = roll_back(ada, 1).own_audit_id
    assert drafts and not any(own in name for name in drafts)
    forged = WriteGuardianAudit(id=own, target_file=NAME, candidate_fact="forged", status="written", created_at=T0)
    for source in (Source.DATABASE, Source.LOG, Source.API):
        for reported_row in (forged, get_write(own)):  # with other words, and with the same
            with pytest.raises(write_store.Conflict):
                write_store.store_reports(DB, [Report(copy(reported_row), source)])
    assert (get_write(own).origin, get_write(own).candidate_fact, write_store.find_row_id(DB, own)) == (
        "rollback",
        "x",
        None,
    )


def test_a_file_is_never_made_larger_than_may_be_read(ada, file):
    create_write(file, 1, b"x" * (5 * 1024 * 1024 + 1), b"b\n")
    with pytest.raises(rollback_plan.NotPossible, match="5 MB"):
        rollback_plan.plan_rollback(ada, "w1")
    assert file.read_bytes() == b"b\n"


@pytest.mark.parametrize(
    ("status", "words"),
    [("rolled_back", "already"), ("refused", "The guardian refused this write"), ("written", "Nobody knows")],
)
def test_what_cannot_be_rolled_back(ada, file, status, words):
    create_write(file, 1, b"a\n", b"b\n")
    WriteGuardianAudit.objects.using(DB).update(status=status, hunks_json=None)
    with pytest.raises(rollback_plan.NotPossible, match=words):
        roll_back(ada, 1)
    with pytest.raises(rollback_plan.NoSuchWrite):
        rollback_plan.plan_rollback(ada, "w9")


def test_without_the_settings_nothing_is_written(ada, file, settings):
    create_write(file, 1, b"a\n", b"b\n")
    configuration.put("writeGuardianAuditing.enableRollback", False)
    with pytest.raises(workspace_access.MayNotWrite, match="Rollbacks are off"):
        roll_back(ada, 1)
    configuration.put("writeGuardianAuditing.enableRollback", True)
    settings.WORKSPACE_WRITES = False
    with pytest.raises(workspace_access.MayNotWrite, match="OPENCLAW_WEB_WORKSPACE_WRITES"):
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n"


def test_what_is_displaced_is_copied_unless_nobody_wants_it(ada, file, settings):
    folder = settings.HOME_DIR / "rollback-copies" / "ada"
    create_write(file, 1, b"a\n", b"b\n")
    service.roll_back(ada, "w1", RollbackRequest("otto", "wrong", keeps_copy=False), seen=None)
    assert not folder.exists()
    create_write(file, 2, b"a\n", b"c\n")
    roll_back(ada, 2)
    assert [path.read_bytes() for path in folder.iterdir()] == [b"c\n"]
