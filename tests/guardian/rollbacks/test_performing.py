"""Rolling back a write to a real file: what was there comes back, and nothing that an agent wrote is lost."""

import errno
import os
from contextlib import suppress
from copy import copy
from pathlib import Path

import orjson
import pytest

from guardian import services, versions
from guardian.exact import data_of
from guardian.models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit
from guardian.recording import attributing, pruning, storing
from guardian.recording.told import FileChange, Source, Told
from guardian.rollbacks import performing, places, planning, recovering, settling, together, workspace
from guardian.rollbacks.performing import Changed, Wish
from people.configuration import keys as configuration
from tests import faults
from tests.factories import SessionFactory

DB, T0, NAME = "agent_ada", 1_770_000_000_000, "MEMORY.md"
WISH = Wish("otto", "wrong")
pytestmark = pytest.mark.django_db


def wrote(file, number, before, after):
    """A write that an agent carried out and a plugin told of."""
    row = WriteGuardianAudit(
        id=f"w{number}", session_id="s1", target_file=NAME, candidate_fact="x", status="written",
        created_at=T0 + number * 1000,
    )  # fmt: skip
    storing.store(DB, [Told(row, Source.API, FileChange(before, after), body_sha256="1")])
    file.write_bytes(after)


def roll_back(ada, number, **more):
    seen = planning.plan(ada, f"w{number}", hunk=more.get("hunk")).seen
    return performing.perform(ada, f"w{number}", WISH, **({"seen": seen} | more))


def row(name):
    return WriteGuardianAudit.objects.using(DB).get(id=name)


@pytest.mark.parametrize("before", [b"# Facts\n", b"\xff\x00\r\nno end", b""])
def test_it_works(ada, file, before):
    wrote(file, 1, before, before + b"\nLikes tea.\n")
    result = roll_back(ada, 1)
    assert file.read_bytes() == before and os.listdir(file.parent) == [NAME]
    assert result.success and result.restored_to == row("w1").before_snapshot.created_at and not result.meanwhile
    assert row("w1").status == "rolled_back"
    done = Rollback.objects.using(DB).get()
    assert (done.id, done.audit_id, done.rolled_back_by, done.reason, done.previous_status, done.way) == (
        result.rollback_id, "w1", "otto", "wrong", "written", "exact",
    )  # fmt: skip
    assert data_of(done.restored_snapshot) == before
    assert RollbackIntent.objects.using(DB).get().state == "done"


def test_a_file_that_was_new_goes(ada, file):
    wrote(file, 1, None, b"new\n")
    assert roll_back(ada, 1).restored_to is None
    assert not file.exists() and os.listdir(file.parent) == []
    assert Rollback.objects.using(DB).get().restored_snapshot is None


def test_a_rollback_is_rolled_back_and_the_write_stays_so(ada, file):
    wrote(file, 1, b"one\n", b"two\n")
    roll_back(ada, 1)
    own = Rollback.objects.using(DB).get().own_audit
    seen = planning.plan(ada, own.id).seen
    performing.perform(ada, own.id, Wish("otto", "it was right"), seen=seen)
    assert file.read_bytes() == b"two\n"
    assert row("w1").status == row(own.id).status == "rolled_back"


def test_later_lines_stay(ada, file):
    wrote(file, 1, b"a\nb\nc\nd\n", b"a\nB\nc\nd\n")
    wrote(file, 2, b"a\nB\nc\nd\n", b"a\nB\nc\nd\ne\n")
    assert planning.plan(ada, "w1").has_changed
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\nb\nc\nd\ne\n"
    assert Rollback.objects.using(DB).get().way == "merged"


def test_a_conflict_needs_a_person(ada, file):
    wrote(file, 1, b"a\nb\nc\n", b"a\nB\nc\n")
    file.write_bytes(b"a\nBBB\nc\n")
    found = planning.plan(ada, "w1")
    assert [(one.before, one.after, one.current) for one in found.conflicts] == [(("b\n",), ("B\n",), ("BBB\n",))]
    with pytest.raises(Changed, match="Choose"):
        roll_back(ada, 1)
    assert file.read_bytes() == b"a\nBBB\nc\n" and row("w1").status == "written"
    roll_back(ada, 1, chosen=b"a\nchosen\nc\n")
    assert file.read_bytes() == b"a\nchosen\nc\n" and Rollback.objects.using(DB).get().way == "chosen"


@pytest.mark.parametrize("now", [b"other\n", b"", None])
def test_where_nothing_is_to_be_taken_out_the_file_stays(ada, file, now):
    told(file, 1, b"a\n", b"a\n")
    told(file, 2, b"", b"line\n")  # its line went with the file, or with all lines
    file.unlink() if now is None else file.write_bytes(now)
    roll_back(ada, 1)
    if now != b"other\n":
        roll_back(ada, 2)
    assert (file.read_bytes() if file.exists() else None) == now and os.listdir(file.parent) == [NAME] * file.exists()


def test_one_hunk_leaves_the_rest_of_the_write(ada, file):
    wrote(file, 1, b"a\nb\nc\nd\ne\n", b"A\nb\nc\nd\nE\n")
    roll_back(ada, 1, hunk=1)
    assert file.read_bytes() == b"A\nb\nc\nd\ne\n" and row("w1").status == "written"
    assert WriteGuardianAudit.objects.using(DB).filter(origin="rollback").count() == 1
    roll_back(ada, 1)  # the other one as well: the first is done
    assert file.read_bytes() == b"a\nb\nc\nd\ne\n" and row("w1").status == "rolled_back"


def test_a_file_that_changed_since_the_preview_is_left_alone(ada, file):
    wrote(file, 1, b"a\n", b"b\n")
    seen = planning.plan(ada, "w1").seen
    file.write_bytes(b"c\n")
    with pytest.raises(Changed, match="since the preview"):
        performing.perform(ada, "w1", WISH, seen=seen)
    assert file.read_bytes() == b"c\n" and not RollbackIntent.objects.using(DB).exists()


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
    wrote(file, 1, b"a\n", b"b\n")
    with faults.before(DB, lambda sql: sql.startswith('INSERT INTO "rollbacks"'), lambda: make(_draft(file), file)):
        kept = roll_back(ada, 1).meanwhile
    assert file.read_bytes() == b"a\n" and RollbackIntent.objects.using(DB).get().state == "done"
    assert [len(data_of(FileSnapshot.objects.using(DB).get(id=one))) for one in kept] == (
        [workspace.MOST_BYTES + 1] if make is _longer else []
    )
    wrote(file, 2, b"a\n", b"c\n")
    roll_back(ada, 2)
    assert file.read_bytes() == b"a\n"


def _draft(file):
    (found,) = file.parent.glob(".*.rollback")
    return found


def test_an_exchange_that_cannot_be_put_on_the_disk_is_taken_back(ada, file, monkeypatch):
    real, failures = os.fsync, [OSError(errno.EIO, "Input/output error")]

    def fsync(handle):
        if failures and os.path.isdir(f"/proc/self/fd/{handle}"):
            raise failures.pop()
        real(handle)

    wrote(file, 1, b"a\n", b"b\n")
    with monkeypatch.context() as patched, pytest.raises(workspace.NotWritten):
        patched.setattr(os, "fsync", fsync)
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n" and os.listdir(file.parent) == [NAME]
    assert row("w1").status == "written" and RollbackIntent.objects.using(DB).get().state == "undone"
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\n"


def test_a_link_that_takes_the_place_of_the_file_at_the_last_moment_is_refused(ada, file, tmp_path):
    wrote(file, 1, b"a\n", b"b\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"b\n")
    is_intended = 'INSERT INTO "rollback_intents"'
    with (
        faults.before(DB, lambda sql: sql.startswith(is_intended), lambda: (file.unlink(), file.symlink_to(elsewhere))),
        pytest.raises(workspace.NotOurs, match="is a link"),
    ):
        roll_back(ada, 1)
    assert elsewhere.read_bytes() == b"b\n" and RollbackIntent.objects.using(DB).get().state == "undone"
    file.unlink(), file.write_bytes(b"b\n")
    roll_back(ada, 1)
    assert file.read_bytes() == b"a\n"


@pytest.mark.parametrize("before", [b"a\n", None])
@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
def test_what_takes_the_place_of_the_file_between_look_and_exchange_stays(ada, file, tmp_path, before, what):
    wrote(file, 1, before, b"b\n")
    make = {"link": lambda: file.symlink_to(tmp_path), "pipe": lambda: os.mkfifo(file), "folder": file.mkdir}[what]
    at = ("open", lambda path: path.endswith(".rollback")) if before else ("open", lambda path: path == NAME)
    calls = []

    def heard(event, path):
        # The file was read; what follows is the exchange, or that the file is moved aside.
        if event == at[0] and at[1](path):
            calls.append(path)
            if len(calls) == (1 if before else 4):
                file.unlink()
                make()

    with faults.files(heard), pytest.raises(workspace.NotOurs):
        roll_back(ada, 1)
    assert os.listdir(file.parent) == [NAME] and not file.is_file()
    assert not RollbackIntent.objects.using(DB).exclude(state="undone").exists()
    assert not Rollback.objects.using(DB).exists()


def test_nobody_tells_of_what_this_site_did(ada, file):
    """An agent sees the draft beside its file, and may write what it likes into a database that is imported."""
    wrote(file, 1, b"a\n", b"b\n")
    drafts = []
    with faults.files(lambda event, path: event == "open" and path.endswith(".rollback") and drafts.append(path)):
        own = roll_back(ada, 1).own_audit_id
    assert drafts and not any(own in name for name in drafts)
    forged = WriteGuardianAudit(id=own, target_file=NAME, candidate_fact="forged", status="written", created_at=T0)
    for source in (Source.DATABASE, Source.LOG, Source.API):
        with pytest.raises(storing.Conflict):
            storing.store(DB, [Told(copy(forged), source)])
    assert (row(own).origin, row(own).candidate_fact, storing.row_id(DB, own)) == ("rollback", "x", None)


def test_a_file_is_never_made_larger_than_may_be_read(ada, file):
    wrote(file, 1, b"x" * (5 * 1024 * 1024 + 1), b"b\n")
    with pytest.raises(planning.NotPossible, match="5 MB"):
        planning.plan(ada, "w1")
    assert file.read_bytes() == b"b\n"


def test_what_an_agent_writes_meanwhile_is_kept_and_asked_about(ada, file):
    wrote(file, 1, b"a\n", b"b\n")
    agent = os.open(file, os.O_WRONLY)
    with faults.once("open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)):
        result = roll_back(ada, 1)
    os.close(agent)
    assert file.read_bytes() == b"a\n"
    kept = FileSnapshot.objects.using(DB).get(id=result.meanwhile[0])
    assert data_of(kept) == b"late\n"
    (waiting,) = settling.of_audit(ada, "w1")
    assert waiting.version == kept
    settling.settle(ada, "w1", kept.id, by="otto", seen=waiting.seen)
    assert file.read_bytes() == b"late\n" and not settling.of_audit(ada, "w1")
    with pytest.raises(Changed, match="already"):
        settling.settle(ada, "w1", kept.id, by="otto", seen=None)


def test_only_what_an_agent_wrote_meanwhile_can_be_put_into_the_file(ada, file):
    wrote(file, 1, b"# Facts\n", b"# Facts\nbad\n")
    agent = os.open(file, os.O_WRONLY | os.O_APPEND)
    with faults.once("open", lambda path: path.endswith(".rollback"), lambda: os.write(agent, b"late\n")):
        result = roll_back(ada, 1)
    os.close(agent)
    (waiting,) = settling.of_audit(ada, "w1")
    assert (waiting.change.diff.added, waiting.added.diff.added) == (2, 1)
    settling.settle(ada, "w1", result.meanwhile[0], by="otto", seen=waiting.seen, is_alone=True)
    assert file.read_bytes() == b"# Facts\nlate\n"
    own = WriteGuardianAudit.objects.using(DB).latest("created_at")
    assert (own.origin, own.candidate_fact, own.turn_id, own.lines_added) == ("rollback", None, None, 1)
    assert "somebody else wrote" in own.reason


def displaced(*contents):
    """Versions that somebody wrote while w1 was rolled back, and nobody has said what becomes of them."""
    rows = [services.version(NAME, data, moment=T0 + 10**9 + at) for at, data in enumerate(contents)]
    FileSnapshot.objects.using(DB).bulk_create(rows)
    about = {"file_name": NAME, "draft_name": "d", "state": "done", "created_at": T0, "ended_at": T0}
    listed = orjson.dumps([one.id for one in rows]).decode()
    RollbackIntent.objects.using(DB).create(id="i", audits_json='["w1"]', meanwhile_json=listed, **about)
    return rows


def test_of_several_such_versions_each_is_settled(ada, file):
    wrote(file, 1, b"a\n", b"b\n")
    one, two = displaced(b"x\n", b"y\n")
    settling.settle(ada, "w1", one.id, by="otto", seen=None)
    (waiting,) = settling.of_audit(ada, "w1")
    assert waiting.version == two and settling.question(DB) == "w1"
    with pytest.raises(Changed, match="already"):
        settling.settle(ada, "w1", one.id, by="otto", seen=waiting.seen)
    settling.settle(ada, "w1", two.id, by="otto", seen=waiting.seen)
    assert file.read_bytes() == b"y\n" and settling.question(DB) is None


def test_such_versions_are_not_pruned_until_they_are_settled(ada, file):
    wrote(file, 1, b"a\n", b"b\n")
    (one,) = displaced(b"x\n")
    for number in range(3):
        services.keep_version(DB, NAME, b"%d\n" % number, modified_ms=T0 + 10**10 + number)
    configuration.put("writeGuardianAuditing.maxSnapshotsPerFile", 2)
    pruning.prune(DB)
    settling.settle(ada, "w1", one.id, by="otto", seen=None)
    assert pruning.prune(DB) == 1 and not FileSnapshot.objects.using(DB).filter(id=one.id).exists()


def test_what_was_written_into_a_displaced_file_is_no_change_of_the_file(ada, file):
    """An import does not take it for what the file holds, and finds it when somebody writes just that."""
    wrote(file, 1, b"a\n", b"b\n")
    agent = os.open(file, os.O_WRONLY)
    with faults.once("open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)):
        assert roll_back(ada, 1).meanwhile
    os.close(agent)
    later = 4_000_000_000_000
    assert not services.keep_version(DB, NAME, b"a\n", modified_ms=later)
    attributing.settle(DB, NAME)
    untold = WriteGuardianAudit.objects.using(DB).filter(origin="unattributed")
    assert not untold.exists() and data_of(versions.newest(ada, NAME)) == b"a\n"
    assert services.keep_version(DB, NAME, b"late\n", modified_ms=later)
    attributing.settle(DB, NAME)
    assert untold.get().before_snapshot.content == "a\n"


@pytest.mark.parametrize(
    ("status", "words"), [("rolled_back", "already"), ("refused", "Nothing was written"), ("written", "Nobody knows")]
)
def test_what_cannot_be_rolled_back(ada, file, status, words):
    wrote(file, 1, b"a\n", b"b\n")
    WriteGuardianAudit.objects.using(DB).update(status=status, hunks_json=None)
    with pytest.raises(planning.NotPossible, match=words):
        roll_back(ada, 1)
    with pytest.raises(planning.NoSuchWrite):
        planning.plan(ada, "w9")


def test_without_the_settings_nothing_is_written(ada, file, settings):
    wrote(file, 1, b"a\n", b"b\n")
    configuration.put("writeGuardianAuditing.enableRollback", False)
    with pytest.raises(places.MayNotWrite, match="Rollbacks are off"):
        roll_back(ada, 1)
    configuration.put("writeGuardianAuditing.enableRollback", True)
    settings.WORKSPACE_WRITES = False
    with pytest.raises(places.MayNotWrite, match="OPENCLAW_WEB_WORKSPACE_WRITES"):
        roll_back(ada, 1)
    assert file.read_bytes() == b"b\n"


def told(file, number, before, after, **columns):
    """A write that was told, whatever the file holds."""
    columns = {"session_id": "s1", "target_file": file.name} | columns
    row = WriteGuardianAudit(
        id=f"w{number}", candidate_fact="x", status="written", created_at=T0 + number * 1000, **columns
    )
    storing.store(DB, [Told(row, Source.API, FileChange(before, after), body_sha256="1")])
    file.write_bytes(after)


def session(ada, **more):
    made = planning_of(ada, **more)
    return performing.perform_session(ada, "s1", WISH, seen=made.hashes, **more)


def planning_of(ada, **more):
    return together.plan_session(ada, "s1", **more)


def test_a_session_is_rolled_back_whole(ada, file):
    user = file.parent / "USER.md"
    told(file, 1, b"a\n", b"a\nb\n")
    told(user, 2, None, b"tea\n")
    told(file, 3, b"a\nb\n", b"a\nb\nother\n", session_id="s2")
    told(file, 4, b"a\nb\nother\n", b"A\nb\nother\n")
    results = session(ada)
    assert file.read_bytes() == b"a\nother\n" and not user.exists()
    assert sorted(one.rollback_id for one in results) == sorted(Rollback.objects.using(DB).values_list("id", flat=True))
    assert [row(f"w{n}").status for n in (1, 2, 3, 4)] == ["rolled_back", "rolled_back", "written", "rolled_back"]
    assert len(set(Rollback.objects.using(DB).values_list("group_id", flat=True))) == 1
    assert os.listdir(file.parent) == [NAME]


def test_of_a_session_some_days(ada, file):
    told(file, 1, b"a\n", b"a\nb\n")
    told(file, 2, b"a\nb\n", b"a\nb\nc\n")
    session(ada, since=T0 + 2000)
    assert file.read_bytes() == b"a\nb\n"
    session(ada, until=T0 + 2000)
    assert file.read_bytes() == b"a\n"


def test_a_session_is_known_by_its_key_however_its_writes_name_it(ada, file):
    SessionFactory(db=DB, id="s1", session_key="agent:ada:main")
    told(file, 1, b"a\n", b"b\n", session_id="s1", session_key="s1")
    told(file, 2, b"b\n", b"c\n", session_id="s1", session_key="agent:ada:main")
    for name in ("s1", "agent:ada:main"):
        assert [one.audit.id for one in together.plan_session(ada, name).by_file[NAME]] == ["w2", "w1"]


def test_of_a_session_it_is_told_which_versions_are_back(ada, file):
    told(file, 1, b"a\n", b"b\n")
    (result,) = session(ada)
    assert result.restored_to == row("w1").before_snapshot.created_at


@pytest.mark.parametrize("side", ["before_snapshot_id", "after_snapshot_id"])
def test_a_version_that_is_missing_is_not_taken_for_no_file(ada, file, side):
    wrote(file, 1, b"a\n", b"b\n")
    FileSnapshot.objects.using(DB).filter(id=getattr(row("w1"), side))._raw_delete(DB)
    with pytest.raises(planning.NotPossible, match="is missing"):
        planning.plan(ada, "w1")
    with pytest.raises(planning.NotPossible, match="is missing"):
        planning_of(ada)
    WriteGuardianAudit.objects.using(DB).all().delete()  # else the end of the test finds the names


def test_a_session_with_too_many_writes_is_rolled_back_in_parts(ada, file, monkeypatch):
    monkeypatch.setattr(together, "MOST_WRITES", 2)
    for number, (before, after) in enumerate(((b"a\n", b"b\n"), (b"b\n", b"c\n"), (b"c\n", b"d\n"))):
        told(file, number, before, after)
    with pytest.raises(planning.NotPossible, match="more than 2 writes"):
        session(ada)
    session(ada, since=T0 + 1_000)
    assert file.read_bytes() == b"b\n"


def test_a_session_with_a_conflict_is_left_whole(ada, file):
    user = file.parent / "USER.md"
    told(file, 1, b"a\n", b"b\n")
    told(user, 2, b"", b"tea\n")
    file.write_bytes(b"mine\n")
    assert [one.audit.id for one in planning_of(ada).conflicts] == ["w1"]
    with pytest.raises(Changed):
        session(ada)
    assert (file.read_bytes(), user.read_bytes()) == (b"mine\n", b"tea\n")


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(ada, file):
    user = file.parent / "USER.md"
    told(user, 1, b"", b"tea\n")
    told(file, 2, b"a\n", b"b\n")
    made = planning_of(ada)
    assert list(made.by_file) == [NAME, "USER.md"]
    os.link(user, file.parent.parent / "second-name")  # refused when its turn comes
    with pytest.raises(workspace.NotWritten):
        performing.perform_session(ada, "s1", WISH, seen=made.hashes)
    assert (file.read_bytes(), user.read_bytes()) == (b"b\n", b"tea\n")
    assert sorted(os.listdir(file.parent)) == [NAME, "USER.md"]
    assert not Rollback.objects.using(DB).exists() and row("w2").status == "written"


class Killed(BaseException):
    """Stands for the end of a process: nothing of ours catches it. Real kills are in test_rollback_kill.py."""


def _die():
    raise Killed


STEPS = {
    "draft": lambda: faults.once("open", lambda path: path.endswith(".rollback"), _die),
    "write": lambda: faults.before(DB, lambda sql: sql.startswith('INSERT INTO "write_guardian_audit"'), _die),
    "rollback": lambda: faults.before(DB, lambda sql: sql.startswith('INSERT INTO "rollbacks"'), _die),
    "done": lambda: faults.before(DB, lambda sql: sql.startswith('UPDATE "rollback_intents"'), _die),
}


@pytest.mark.parametrize(
    ("step", "before"),
    [
        *((step, b"a\n") for step in STEPS),
        *((step, None) for step in STEPS if step != "draft"),
    ],  # what goes has no draft
)
def test_ended_at_any_step_it_is_finished_or_undone(ada, file, before, step):
    wrote(file, 1, before, b"b\n")
    with STEPS[step](), suppress(Killed):
        roll_back(ada, 1)
    recovered = recovering.recover(ada)
    is_done = row("w1").status == "rolled_back"
    assert Rollback.objects.using(DB).exists() == is_done == (step != "draft")
    assert (file.read_bytes() if file.exists() else None) == (before if is_done else b"b\n")
    assert [one.name for one in Path(file.parent).iterdir()] in ([NAME], [])
    assert recovering.recover(ada) == [] and len(recovered) <= 1


def test_what_is_displaced_is_copied_unless_nobody_wants_it(ada, file, settings):
    folder = settings.HOME_DIR / "rollback-copies" / "ada"
    wrote(file, 1, b"a\n", b"b\n")
    performing.perform(ada, "w1", Wish("otto", "wrong", keeps_copy=False), seen=None)
    assert not folder.exists()
    wrote(file, 2, b"a\n", b"c\n")
    roll_back(ada, 2)
    assert [path.read_bytes() for path in folder.iterdir()] == [b"c\n"]
