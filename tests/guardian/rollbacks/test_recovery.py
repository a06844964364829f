"""Rollbacks that a kill interrupted at rare moments: file and database agree afterwards.

Nothing is left that hinders the next rollback.
"""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import OperationalError

from guardian import services
from guardian.models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit
from guardian.recording import snapshot_matching
from guardian.rollbacks import concurrent_edits, intent_store, recovery, service
from guardian.rollbacks.intent_store import Reversal, Step
from guardian.services import read_version_bytes
from people.models.bookkeeping import AuditEntry
from tests import faults
from tests.guardian import write_rows
from tests.guardian.write_rows import T0

from .rolled_back_writes import DB, NAME, STEPS, WISH, ProcessEnd, create_write, get_write, roll_back

pytestmark = pytest.mark.django_db


def create_file_write(file, number, before, after):
    """Store a reported write, and put its result into the file."""
    write_rows.create_write(DB, number, before, after)
    if after is not None:
        file.write_bytes(after)


def start_killed_rollback(ada, audit_id):
    """Roll a write back in a process that ends between exchange and database."""
    with STEPS["write"](), suppress(ProcessEnd):
        service.roll_back(ada, audit_id, WISH, seen=None)


def intend(file, now, target):
    """Store the intent of a rollback of w1, and return the name of its draft.

    A rollback stores its intent before it touches the file.
    """
    take = Reversal("w1", "r1", "exact")
    (intent,) = intent_store.store_intents(
        DB, file.parent, [Step(NAME, now, target, ("w1",), (take,))], "otto", "wrong"
    )
    return intent.draft_name


def check(ada, file, *, holds, is_done):
    assert [intent["state"] for intent in recovery.recover(ada)] == ["done" if is_done else "undone"]
    assert (file.read_bytes() if file.exists() else None) == holds
    assert os.listdir(file.parent) == [NAME] * (holds is not None)
    assert holds is None or file.stat().st_nlink == 1
    assert Rollback.objects.using(DB).exists() == is_done == (get_write("w1").status == "rolled_back")
    assert recovery.recover(ada) == []


def test_an_exchange_in_three_steps_is_taken_back_before_the_second(ada, file):
    """Where the kernel cannot exchange two files, the old one has a second name meanwhile."""
    create_file_write(file, 1, b"a\n", b"b\n")
    draft = file.parent / intend(file, b"b\n", b"a\n")
    draft.write_bytes(b"a\n")
    os.link(file, f"{draft}.old")
    check(ada, file, holds=b"b\n", is_done=False)


def test_an_exchange_in_three_steps_is_finished_after_the_second(ada, file):
    create_file_write(file, 1, b"a\n", b"b\n")
    draft = file.parent / intend(file, b"b\n", b"a\n")
    draft.write_bytes(b"a\n")
    os.link(file, f"{draft}.old")
    draft.rename(file)
    check(ada, file, holds=b"a\n", is_done=True)


def leave_killed_exchange(file, *, new=None, is_linked=False, is_tried=False):
    """Leave an interrupted rollback of b to a, on a kernel that exchanges no files.

    The old file has been moved aside, or the draft is linked already.

    `new` is what an agent that found no file wrote.
    """
    create_file_write(file, 1, b"a\n", b"b\n")
    draft = file.parent / intend(file, b"b\n", b"a\n")
    draft.write_bytes(b"a\n")
    if is_tried:
        os.link(draft, f"{draft}.old")
        return
    file.rename(f"{draft}.old")
    if is_linked:
        os.link(draft, file)
    if new is not None:
        new_file = file.parent / "agent"
        new_file.write_bytes(new)
        new_file.replace(file)


@pytest.mark.parametrize(
    ("state", "holds", "is_done"),
    [
        ({"is_tried": True}, b"b\n", False),
        ({}, b"b\n", False),
        ({"is_linked": True}, b"a\n", True),
        ({"new": b"new\n"}, b"new\n", False),
        ({"is_linked": True, "new": b"new\n"}, b"new\n", False),
    ],
)
def test_an_exchange_without_the_call_is_finished_or_undone_in_every_state(ada, file, state, holds, is_done):
    leave_killed_exchange(file, **state)
    check(ada, file, holds=holds, is_done=is_done)
    assert Rollback.objects.using(DB).exists() == is_done
    assert recovery.recover(ada) == []


def test_what_was_moved_away_and_never_seen_is_kept_when_an_agent_made_a_new_file(ada, file):
    leave_killed_exchange(file, new=b"new\n")
    aside = next(path for path in file.parent.iterdir() if path.name.endswith(".old"))
    aside.write_bytes(b"unseen\n")  # renamed over the file between the last look and the first step
    check(ada, file, holds=b"new\n", is_done=False)
    assert b"unseen\n" in [read_version_bytes(snapshot) for snapshot in FileSnapshot.objects.using(DB)]
    assert concurrent_edits.find_unsettled_write(DB) == "w1"


def test_what_was_being_put_back_is_put_back(ada, file):
    """The second kill: the old file is named as the draft, ours was moved aside."""
    create_file_write(file, 1, b"a\n", b"b\n")
    draft = file.parent / intend(file, b"b\n", b"a\n")
    draft.write_bytes(b"b\n")
    file.write_bytes(b"a\n")
    file.rename(f"{draft}.old")
    os.link(draft, file)
    check(ada, file, holds=b"b\n", is_done=False)


def test_a_file_that_was_created_keeps_one_name(ada, file):
    create_file_write(file, 1, b"a\n", None)
    draft = file.parent / intend(file, None, b"a\n")
    draft.write_bytes(b"a\n")
    os.link(draft, file)
    check(ada, file, holds=b"a\n", is_done=True)


def test_a_file_that_was_to_go_and_has_two_names_stays(ada, file):
    create_file_write(file, 1, None, b"b\n")
    os.link(file, file.parent / intend(file, b"b\n", None))
    check(ada, file, holds=b"b\n", is_done=False)


def test_a_draft_that_somebody_planted_finishes_nothing(ada, file):
    create_file_write(file, 1, b"a\n", b"b\n")
    (file.parent / intend(file, b"b\n", b"a\n")).write_bytes(b"b\n")
    check(ada, file, holds=b"b\n", is_done=False)


def test_a_write_that_a_plugin_tells_of_after_the_kill_is_still_there(ada, file):
    for at, data in enumerate((b"a\n", b"b\n")):
        services.store_version(DB, NAME, data, modified_ms=T0 + at * 100_000)
        snapshot_matching.match_snapshots(DB, NAME)
    file.write_bytes(b"b\n")
    unreported = WriteGuardianAudit.objects.using(DB).get(origin="unattributed")
    start_killed_rollback(ada, unreported.id)
    write_rows.create_write(
        DB, 50, b"a\n", b"b\n"
    )  # the same change: a write of its own while the other is rolled back
    assert [intent["state"] for intent in recovery.recover(ada)] == ["done"]
    assert (
        get_write(unreported.id).status == "rolled_back" and Rollback.objects.using(DB).get().audit_id == unreported.id
    )
    create_file_write(file, 200, b"a\n", b"c\n")
    service.roll_back(ada, "w200", WISH, seen=None)
    assert file.read_bytes() == b"a\n"


def test_a_rollback_whose_write_is_gone_is_ended(ada, file):
    create_file_write(file, 1, b"a\n", b"b\n")
    start_killed_rollback(ada, "w1")
    WriteGuardianAudit.objects.using(DB).filter(id="w1").delete()
    assert [intent["state"] for intent in recovery.recover(ada)] == ["done"]
    assert not RollbackIntent.objects.using(DB).filter(ended_at=None).exists()
    assert WriteGuardianAudit.objects.using(DB).get().origin == "rollback"


def test_who_asked_for_it_is_in_the_log_of_what_people_did(ada, file):
    create_file_write(file, 1, b"a\n", b"b\n")
    start_killed_rollback(ada, "w1")
    assert not AuditEntry.objects.filter(action="write_rolled_back").exists()
    recovery.recover(ada)
    entry = AuditEntry.objects.get(action="write_rolled_back")
    assert (entry.actor, entry.object_id, entry.agent_id) == ("otto", "w1", "ada")


def _full():
    raise OperationalError("database or disk is full")


def test_a_rollback_that_was_done_is_in_that_log_once(ada, file):
    """The displaced file is examined again, since the database could not note the first time."""
    create_file_write(file, 1, b"a\n", b"b\n")
    with faults.before_statement(DB, lambda sql: sql.startswith("UPDATE") and '"ended_at" =' in sql, _full):
        service.roll_back(ada, "w1", WISH, seen=None)
    assert [intent["state"] for intent in recovery.recover(ada)] == ["done"]
    assert AuditEntry.objects.filter(action="write_rolled_back").count() == 1


@pytest.mark.parametrize(
    ("step", "before"),
    [
        *((step, b"a\n") for step in STEPS),
        *((step, None) for step in STEPS if step != "draft"),
    ],  # a file that is removed has no draft
)
def test_ended_at_any_step_it_is_finished_or_undone(ada, file, before, step):
    create_write(file, 1, before, b"b\n")
    with STEPS[step](), suppress(ProcessEnd):
        roll_back(ada, 1)
    recovered = recovery.recover(ada)
    is_done = get_write("w1").status == "rolled_back"
    assert Rollback.objects.using(DB).exists() == is_done == (step != "draft")
    assert (file.read_bytes() if file.exists() else None) == (before if is_done else b"b\n")
    assert [path.name for path in Path(file.parent).iterdir()] in ([NAME], [])
    assert recovery.recover(ada) == [] and len(recovered) <= 1
