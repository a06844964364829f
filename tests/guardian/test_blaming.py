"""Who put each line of a memory file there, from what is stored of its writes; and the lines that writes left."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian import services
from guardian.changes import hunks_of
from guardian.looking.blaming import blame_of, lines_left_by
from guardian.models import FileSnapshot, GuardianReceipt, WriteGuardianAudit
from openclaw_web.diffs.comparing import lines_of
from tests.guardian.written import T0, share, untold, wrote

DB = "agent_ada"
pytestmark = pytest.mark.django_db
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d"]), max_size=6).map("".join)


def told(ada, name="MEMORY.md"):
    """Each line with its write; a gap is `gap`, what was there before is None."""
    return [(line.text.strip(), "gap" if line.gap else line.audit_id) for line in blame_of(ada, name).lines]


def test_each_line_has_its_write(ada):
    wrote(DB, 1, b"old\n", b"old\none\n")
    wrote(DB, 2, b"old\none\n", b"zero\nold\none\n", status="rolled_back")
    wrote(DB, 3, b"zero\nold\none\n", b"old\nuno\n", origin="rollback")
    wrote(DB, 4, b"old\nuno\n", b"x\n", target_file="USER.md")
    wrote(DB, 5, None, None, status="refused")
    assert told(ada) == [("old", None), ("uno", "w3")]
    assert told(ada, "USER.md") == [("x", "w4")]
    assert blame_of(ada, "SOUL.md") is None and blame_of(ada, "AGENTS.md") is None


def test_lines_that_a_rollback_brought_back_are_of_who_wrote_them(ada):
    wrote(DB, 1, b"old\n", b"old\none\n")
    wrote(DB, 2, b"old\none\n", b"bad\n", status="rolled_back")
    wrote(DB, 3, b"bad\n", b"old\none\n", origin="rollback")
    assert told(ada) == [("old", None), ("one", "w1")]
    wrote(DB, 4, b"old\none\n", b"bad\n", origin="rollback")  # done again
    assert told(ada) == [("bad", "w2")]
    wrote(DB, 5, b"bad\n", b"old\none\n", origin="rollback"), wrote(DB, 6, b"old\none\n", b"old\n", origin="rollback")
    assert told(ada) == [("old", None)] and blame_of(ada, "MEMORY.md").first_at == T0 + 1000


@given(states=st.lists(texts, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_with_a_write_for_each_change_nothing_is_unknown(ada, states):
    for model in (GuardianReceipt, WriteGuardianAudit, FileSnapshot):
        model.objects.using(DB).all().delete()
    before, writers = None, []
    for number, state in enumerate(states):
        row = wrote(DB, number, before, state.encode())
        for old_start, old_end, new_start, new_end in reversed(hunks_of(row.hunks_json)):
            writers[old_start:old_end] = [row.id] * (new_end - new_start)
        before = state.encode()
    found = blame_of(ada, "MEMORY.md")
    assert [line.text for line in found.lines] == lines_of(states[-1])
    assert not any(line.gap for line in found.lines)
    assert [line.audit_id for line in found.lines] == writers


def test_a_missing_version_is_a_gap(ada):
    wrote(DB, 1, None, b"one\n")
    wrote(DB, 3, b"one\ntwo\n", b"one\ntwo\nthree\n")  # nobody told of the second line
    untold(DB)
    assert told(ada) == [("one", "w1"), ("two", "gap"), ("three", "w3")]
    (gap,) = [line.gap for line in blame_of(ada, "MEMORY.md").lines if line.gap]
    assert (gap.since, gap.until) == (T0 + 1000, T0 + 3000)
    services.keep_version(DB, "MEMORY.md", b"one\nthree\nfour\n", modified_ms=T0 + 9**9)
    assert told(ada) == [("one", "w1"), ("three", "w3"), ("four", "gap")]
    assert blame_of(ada, "MEMORY.md").lines[2].gap.until is None


def test_too_many_missing_versions_are_said(ada):
    for number in range(30):
        wrote(DB, number, b"a %d\n" % number, b"b %d\n" % number)
    untold(DB)
    assert blame_of(ada, "MEMORY.md").is_cut


def test_a_write_that_led_nowhere_is_passed(ada):
    wrote(DB, 1, None, b"one\n"), wrote(DB, 2, b"one\n", b"lost\n")
    services.keep_version(DB, "MEMORY.md", b"one\n", modified_ms=T0 + 9**9)
    assert told(ada) == [("one", "w1")]


def test_of_writes_with_one_diff_the_newest_stands_for_all(ada):
    for number in (1, 2):
        wrote(DB, number, b"", b"one\ntwo\n")
    share(DB, "w1", "w2")
    assert told(ada) == [("one", "w2"), ("two", "w2")]
    assert lines_left_by(ada, ["w1"]) == [("MEMORY.md", 1, "one"), ("MEMORY.md", 2, "two")]


def test_lines_that_writes_left_in_all_files(ada):
    wrote(DB, 1, None, b"one\r\nno newline")
    wrote(DB, 2, None, b"three\n", target_file="USER.md"), wrote(DB, 3, b"three\n", b"", target_file="USER.md")
    found = lines_left_by(ada, ["w1", "w2", "nothing"])
    assert found == [("MEMORY.md", 1, "one"), ("MEMORY.md", 2, "no newline")]
    assert lines_left_by(ada, []) == []


def test_versions_with_ids_of_their_own_are_followed(ada):
    wrote(DB, 1, None, b"one\n"), wrote(DB, 2, b"one\n", b"one\ntwo\n")
    rows = FileSnapshot.objects.using(DB)
    for number, row in enumerate(rows.order_by("created_at")):
        audits = WriteGuardianAudit.objects.using(DB)
        row_id, row.id = row.id, f"imported-{number}"
        row.save(using=DB, force_insert=True)
        audits.filter(before_snapshot_id=row_id).update(before_snapshot_id=row.id)
        audits.filter(after_snapshot_id=row_id).update(after_snapshot_id=row.id)
        rows.filter(id=row_id).delete()
    assert told(ada) == [("one", "w1"), ("two", "w2")]


def test_stored_places_that_cannot_be_are_survived(ada):
    wrote(DB, 1, None, b"one\n")
    WriteGuardianAudit.objects.using(DB).update(hunks_json="[[0,0,0,9]]")
    assert len(blame_of(ada, "MEMORY.md").lines) == 1


def test_another_agent_has_lines_of_its_own(ada, bob):
    wrote(DB, 1, None, b"one\n")
    assert blame_of(bob, "MEMORY.md") is None and lines_left_by(bob, ["w1"]) == []
