"""The write behind each line of a memory file, and the lines that writes left."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian import services
from guardian.detail.line_blame import blame_file, find_remaining_lines
from guardian.models import FileSnapshot, GuardianReceipt, Rollback, RollbackIntent, WriteGuardianAudit
from openclaw_web.diffs.line_diff import split_lines
from tests.guardian.write_rows import T0, create_write, remove_unreported, share_diff

DB = "agent_ada"
pytestmark = pytest.mark.django_db
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d"]), max_size=6).map("".join)


def read_line_owners(ada, name="MEMORY.md"):
    """Return each line with the id of its write; a gap is `gap`, earlier lines None."""
    return [(line.text.strip(), "gap" if line.gap else line.audit_id) for line in blame_file(ada, name).lines]


def test_each_line_has_its_write(ada):
    create_write(DB, 1, b"old\n", b"old\none\n")
    create_write(DB, 2, b"old\none\n", b"zero\nold\none\n", status="rolled_back")
    create_write(DB, 3, b"zero\nold\none\n", b"old\nuno\n", origin="rollback")
    create_write(DB, 4, b"old\nuno\n", b"x\n", target_file="USER.md")
    create_write(DB, 5, None, None, status="refused")
    assert read_line_owners(ada) == [("old", None), ("uno", "w3")]
    assert read_line_owners(ada, "USER.md") == [("x", "w4")]
    assert blame_file(ada, "SOUL.md") is None and blame_file(ada, "AGENTS.md") is None


def test_lines_that_a_rollback_brought_back_are_of_who_wrote_them(ada):
    create_write(DB, 1, b"old\n", b"old\none\n")
    create_write(DB, 2, b"old\none\n", b"bad\n", status="rolled_back")
    create_write(DB, 3, b"bad\n", b"old\none\n", origin="rollback")
    assert read_line_owners(ada) == [("old", None), ("one", "w1")]
    create_write(DB, 4, b"old\none\n", b"bad\n", origin="rollback")  # done again
    assert read_line_owners(ada) == [("bad", "w2")]
    (
        create_write(DB, 5, b"bad\n", b"old\none\n", origin="rollback"),
        create_write(DB, 6, b"old\none\n", b"old\n", origin="rollback"),
    )
    assert read_line_owners(ada) == [("old", None)] and blame_file(ada, "MEMORY.md").first_at == T0 + 1000


def create_rollback(number, by, way="merged"):
    """Store that write `w<number>` was rolled back by write `w<by>`."""
    columns = {"rolled_back_at": T0, "rolled_back_by": "otto", "reason": "Wrong.", "previous_status": "written"}
    Rollback.objects.using(DB).create(id=f"r{number}", audit_id=f"w{number}", own_audit_id=f"w{by}", way=way, **columns)


def test_lines_that_came_back_between_later_changes_are_of_who_wrote_them(ada):
    create_write(DB, 1, b"old\n", b"old\none\ntwo\n")
    create_write(DB, 2, b"old\none\ntwo\n", b"old\nuno\n", status="rolled_back")
    create_write(DB, 3, b"old\nuno\n", b"old\nuno\nthree\n")
    create_write(DB, 4, b"old\nuno\nthree\n", b"old\none\ntwo\nthree\nby hand\n", origin="rollback")
    create_rollback(2, by=4)
    back = [("old", None), ("one", "w1"), ("two", "w1"), ("three", "w3")]
    assert read_line_owners(ada) == [*back, ("by hand", "w4")]
    assert find_remaining_lines(ada, ["w2", "w4"]) == [("MEMORY.md", 5, "by hand")]
    # Done again between later changes, and taken back once more: the rollbacks in between wrote none of it.
    create_write(DB, 5, b"old\none\ntwo\nthree\nby hand\n", b"old\none\ntwo\nthree\nfour\n")
    create_write(DB, 6, b"old\none\ntwo\nthree\nfour\n", b"old\nuno\nthree\nfour\n", origin="rollback")
    create_rollback(4, by=6)
    assert read_line_owners(ada) == [("old", None), ("uno", "w2"), ("three", "w3"), ("four", "w5")]
    create_write(DB, 7, b"old\nuno\nthree\nfour\n", b"old\none\ntwo\nthree\nfour\nfive\n", origin="rollback")
    create_rollback(6, by=7)
    assert read_line_owners(ada) == [*back, ("four", "w5"), ("five", "w7")]


def test_one_change_that_was_taken_back_is_of_who_wrote_it(ada):
    create_write(DB, 1, b"old\n", b"old\none\n")
    create_write(DB, 2, b"old\none\n", b"new\nuno\n")
    row = create_write(DB, 3, b"new\nuno\n", b"new\none\n", origin="rollback")
    about = {"file_name": "MEMORY.md", "draft_name": "x", "state": "done", "created_at": T0, "ended_at": T0}
    after = {"after_snapshot": row.after_snapshot, "audits_json": '["w2"]'}
    RollbackIntent.objects.using(DB).create(id="i", **about, **after)
    assert read_line_owners(ada) == [("new", "w2"), ("one", "w1")]


def test_lines_of_many_rollbacks_are_followed_up_to_a_limit(ada):
    lines = [b"%d\n" % number for number in range(30)]
    create_write(DB, 0, b"", b"".join(lines))
    held = b"".join(lines)
    for number in range(1, 60, 2):
        bad = held.replace(b"\n%d\n" % (number // 2), b"\nbad\n", 1) if number > 1 else held.replace(b"0", b"bad", 1)
        create_write(DB, number, held, bad, status="rolled_back")
        held += b"after %d\n" % number
        create_write(DB, number + 1, bad, held, origin="rollback")
        create_rollback(number, by=number + 1)
    owners = [owner for text, owner in read_line_owners(ada) if not text.startswith("after")]
    assert owners.count("w0") == 20 and len(set(owners)) == 11


@given(states=st.lists(texts, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_with_a_write_for_each_change_nothing_is_unknown(ada, states):
    for model in (GuardianReceipt, WriteGuardianAudit, FileSnapshot):
        model.objects.using(DB).all().delete()
    before, writers = None, []
    for number, state in enumerate(states):
        row = create_write(DB, number, before, state.encode())
        for old_start, old_end, new_start, new_end in reversed(row.hunks):
            writers[old_start:old_end] = [row.id] * (new_end - new_start)
        before = state.encode()
    file_blame = blame_file(ada, "MEMORY.md")
    assert [line.text for line in file_blame.lines] == split_lines(states[-1])
    assert not any(line.gap for line in file_blame.lines)
    assert [line.audit_id for line in file_blame.lines] == writers


def test_a_missing_version_is_a_gap(ada):
    create_write(DB, 1, None, b"one\n")
    create_write(DB, 3, b"one\ntwo\n", b"one\ntwo\nthree\n")  # no source reported the second line
    remove_unreported(DB)
    assert read_line_owners(ada) == [("one", "w1"), ("two", "gap"), ("three", "w3")]
    (gap,) = [line.gap for line in blame_file(ada, "MEMORY.md").lines if line.gap]
    assert (gap.since, gap.until) == (T0 + 1000, T0 + 3000)
    services.store_version(DB, "MEMORY.md", b"one\nthree\nfour\n", modified_ms=T0 + 9**9)
    assert read_line_owners(ada) == [("one", "w1"), ("three", "w3"), ("four", "gap")]
    assert blame_file(ada, "MEMORY.md").lines[2].gap.until is None


def test_too_many_missing_versions_are_said(ada):
    for number in range(30):
        create_write(DB, number, b"a %d\n" % number, b"b %d\n" % number)
    remove_unreported(DB)
    assert blame_file(ada, "MEMORY.md").is_cut


def test_a_write_that_led_nowhere_is_passed(ada):
    create_write(DB, 1, None, b"one\n"), create_write(DB, 2, b"one\n", b"lost\n")
    services.store_version(DB, "MEMORY.md", b"one\n", modified_ms=T0 + 9**9)
    assert read_line_owners(ada) == [("one", "w1")]


def test_of_writes_with_one_diff_the_newest_stands_for_all(ada):
    for number in (1, 2):
        create_write(DB, number, b"", b"one\ntwo\n")
    share_diff(DB, "w1", "w2")
    assert read_line_owners(ada) == [("one", "w2"), ("two", "w2")]
    assert find_remaining_lines(ada, ["w1"]) == [("MEMORY.md", 1, "one"), ("MEMORY.md", 2, "two")]


def test_lines_that_writes_left_in_all_files(ada):
    create_write(DB, 1, None, b"one\r\nno newline")
    (
        create_write(DB, 2, None, b"three\n", target_file="USER.md"),
        create_write(DB, 3, b"three\n", b"", target_file="USER.md"),
    )
    lines = find_remaining_lines(ada, ["w1", "w2", "nothing"])
    assert lines == [("MEMORY.md", 1, "one"), ("MEMORY.md", 2, "no newline")]
    assert find_remaining_lines(ada, []) == []


def test_versions_with_ids_of_their_own_are_followed(ada):
    create_write(DB, 1, None, b"one\n"), create_write(DB, 2, b"one\n", b"one\ntwo\n")
    rows = FileSnapshot.objects.using(DB)
    for number, row in enumerate(rows.order_by("created_at")):
        audits = WriteGuardianAudit.objects.using(DB)
        row_id, row.id = row.id, f"imported-{number}"
        row.save(using=DB, force_insert=True)
        audits.filter(before_snapshot_id=row_id).update(before_snapshot_id=row.id)
        audits.filter(after_snapshot_id=row_id).update(after_snapshot_id=row.id)
        rows.filter(id=row_id).delete()
    assert read_line_owners(ada) == [("one", "w1"), ("two", "w2")]


def test_stored_places_that_cannot_be_are_survived(ada):
    create_write(DB, 1, None, b"one\n")
    WriteGuardianAudit.objects.using(DB).update(hunks_json="[[0,0,0,9]]")
    assert len(blame_file(ada, "MEMORY.md").lines) == 1


def test_another_agent_has_lines_of_its_own(ada, bob):
    create_write(DB, 1, None, b"one\n")
    assert blame_file(bob, "MEMORY.md") is None and find_remaining_lines(bob, ["w1"]) == []
