"""All writes of a session rolled back at once: all of them, or none."""

import os

import pytest

from guardian.models import FileSnapshot, Rollback, WriteGuardianAudit
from guardian.rollbacks import rollback_plan, service, workspace
from tests.factories import SessionFactory

from .rolled_back_writes import DB, NAME, T0, WISH, create_write, get_write, report_write

pytestmark = pytest.mark.django_db


def roll_back_session(ada, **more):
    plan = build_plan(ada, **more)
    return service.roll_back_session(ada, "s1", WISH, seen=plan.hashes, **more)


def build_plan(ada, **more):
    return rollback_plan.plan_session(ada, "s1", **more)


def test_a_session_is_rolled_back_whole(ada, file):
    user = file.parent / "USER.md"
    report_write(file, 1, b"a\n", b"a\nb\n")
    report_write(user, 2, None, b"tea\n")
    report_write(file, 3, b"a\nb\n", b"a\nb\nother\n", session_id="s2")
    report_write(file, 4, b"a\nb\nother\n", b"A\nb\nother\n")
    results = roll_back_session(ada)
    assert file.read_bytes() == b"a\nother\n" and not user.exists()
    assert sorted(result.rollback_id for result in results) == sorted(
        Rollback.objects.using(DB).values_list("id", flat=True)
    )
    assert [get_write(f"w{n}").status for n in (1, 2, 3, 4)] == ["rolled_back", "rolled_back", "written", "rolled_back"]
    assert len(set(Rollback.objects.using(DB).values_list("group_id", flat=True))) == 1
    assert os.listdir(file.parent) == [NAME]


def test_of_a_session_some_days(ada, file):
    report_write(file, 1, b"a\n", b"a\nb\n")
    report_write(file, 2, b"a\nb\n", b"a\nb\nc\n")
    roll_back_session(ada, since=T0 + 2000)
    assert file.read_bytes() == b"a\nb\n"
    roll_back_session(ada, until=T0 + 2000)
    assert file.read_bytes() == b"a\n"


def test_a_session_is_known_by_its_key_however_its_writes_name_it(ada, file):
    SessionFactory(db=DB, id="s1", session_key="agent:ada:main")
    report_write(file, 1, b"a\n", b"b\n", session_id="s1", session_key="s1")
    report_write(file, 2, b"b\n", b"c\n", session_id="s1", session_key="agent:ada:main")
    for name in ("s1", "agent:ada:main"):
        assert [step.audit.id for step in rollback_plan.plan_session(ada, name).by_file[NAME]] == ["w2", "w1"]


def test_of_a_session_it_is_told_which_versions_are_back(ada, file):
    report_write(file, 1, b"a\n", b"b\n")
    (result,) = roll_back_session(ada)
    assert result.restored_to == get_write("w1").before_snapshot.created_at


@pytest.mark.parametrize("side", ["before_snapshot_id", "after_snapshot_id"])
def test_a_version_that_is_missing_is_not_taken_for_no_file(ada, file, side):
    create_write(file, 1, b"a\n", b"b\n")
    FileSnapshot.objects.using(DB).filter(id=getattr(get_write("w1"), side))._raw_delete(DB)
    with pytest.raises(rollback_plan.NotPossible, match="is missing"):
        rollback_plan.plan_rollback(ada, "w1")
    with pytest.raises(rollback_plan.NotPossible, match="is missing"):
        build_plan(ada)
    WriteGuardianAudit.objects.using(DB).all().delete()  # else the end of the test finds the names


def test_a_session_with_too_many_writes_is_rolled_back_in_parts(ada, file, monkeypatch):
    monkeypatch.setattr(rollback_plan, "MOST_WRITES", 2)
    for number, (before, after) in enumerate(((b"a\n", b"b\n"), (b"b\n", b"c\n"), (b"c\n", b"d\n"))):
        report_write(file, number, before, after)
    with pytest.raises(rollback_plan.NotPossible, match="more than 2 writes"):
        roll_back_session(ada)
    roll_back_session(ada, since=T0 + 1_000)
    assert file.read_bytes() == b"b\n"


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(ada, file):
    user = file.parent / "USER.md"
    report_write(user, 1, b"", b"tea\n")
    report_write(file, 2, b"a\n", b"b\n")
    made = build_plan(ada)
    assert list(made.by_file) == [NAME, "USER.md"]
    os.link(user, file.parent.parent / "second-name")  # refused when its turn comes
    with pytest.raises(workspace.NotWritten):
        service.roll_back_session(ada, "s1", WISH, seen=made.hashes)
    assert (file.read_bytes(), user.read_bytes()) == (b"b\n", b"tea\n")
    assert sorted(os.listdir(file.parent)) == [NAME, "USER.md"]
    assert not Rollback.objects.using(DB).exists() and get_write("w2").status == "written"
