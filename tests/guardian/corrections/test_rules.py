"""Rulings of rules about facts, and the writes that rules flag."""

import pytest

from guardian.corrections import rules
from guardian.models import BehaviorCorrection, WriteGuardianAudit
from tests.guardian.write_rows import T0, create_write

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def create_rule(number, pattern, **columns):
    """Store a rule that was made from the first write."""
    defaults = {
        "original_status": "written",
        "original_candidate_fact": "Likes tea.",
        "original_target_file": "MEMORY.md",
        "corrected_status": "refused",
        "corrected_candidate_fact": "Likes tea.",
        "corrected_target_file": "MEMORY.md",
        "correction_reason": "Said in jest.",
        "apply_to_future": True,
        "corrected_by": "oli",
        "corrected_at": T0 + number,
    }
    return BehaviorCorrection.objects.using(DB).create(
        id=f"r{number}", audit_id="w1", correction_pattern=pattern, **(defaults | columns)
    )


@pytest.fixture(autouse=True)
def first():
    return create_write(DB, 1, None, b"tea\n")


def test_the_newest_rule_that_matches_decides():
    create_rule(1, "tea")
    create_rule(2, "green tea", corrected_status="written", corrected_target_file="USER.md")
    create_rule(3, "coffee")
    create_rule(4, "tea", switched_off_at=T0)
    create_rule(5, "tea", apply_to_future=False)
    assert rules.find_ruling(DB, fact="Likes green tea", target_file="SOUL.md") == rules.Ruling(
        "r2", "written", "Likes green tea", "USER.md", "Said in jest."
    )
    assert rules.find_ruling(DB, fact="Likes TEA", target_file="SOUL.md").rule_id == "r1"
    assert rules.find_ruling(DB, fact="Likes milk", target_file="SOUL.md") is None


def test_a_pattern_of_another_engine_says_nothing():
    create_rule(1, "tea")
    create_rule(2, "(?=tea)")
    assert rules.find_ruling(DB, fact="Likes tea", target_file="SOUL.md").rule_id == "r1"


def test_another_fact_takes_the_place_of_what_matches():
    create_rule(1, "tea", corrected_status="written", corrected_candidate_fact="Likes hot drinks.")
    ruling = rules.find_ruling(DB, fact="Likes green tea", target_file="MEMORY.md")
    assert (ruling.fact, ruling.target_file) == ("Likes hot drinks.", "MEMORY.md")


def build_write(number, **columns):
    defaults = {"status": "written", "candidate_fact": "Loves tea", "target_file": "MEMORY.md", "origin": "recorded"}
    return WriteGuardianAudit(id=f"w{number}", created_at=T0 + 9, session_id="s1", **(defaults | columns))


def test_writes_against_a_rule_are_flagged():
    create_rule(1, "tea")
    create_rule(2, "coffee", corrected_status="written", corrected_target_file="USER.md")
    writes = {
        "r1": build_write(2),
        None: build_write(3, candidate_fact="Loves milk"),
        "": build_write(4, status="refused"),
        "own": build_write(5, origin="own"),
        "r2": build_write(6, candidate_fact="coffee"),
        "as said": build_write(7, candidate_fact="coffee", target_file="USER.md"),
    }
    assert rules.flag_writes(list(writes.values()), rules.read_rule_rows(DB)) == 2
    assert [write.rule_id for write in writes.values()] == ["r1", None, None, None, "r2", None]
    assert {write.status for write in writes.values()} == {"written", "refused"}


def test_rules_are_for_writes_to_come():
    create_rule(10, "tea")
    create_rule(11, "loves")
    known = build_write(3, rule_id="another")
    writes = [build_write(2), known]
    assert rules.flag_writes(writes, rules.read_rule_rows(DB)) == 0 and [write.rule_id for write in writes] == [
        None,
        "another",
    ]
    writes[0].created_at = T0 + 10
    assert rules.flag_writes(writes, rules.read_rule_rows(DB)) == 1 and writes[0].rule_id == "r10"


def test_what_a_plugin_tells_of_is_flagged_when_it_is_stored():
    create_rule(1, "tea")
    assert create_write(DB, 2, b"tea\n", b"tea!\n", candidate_fact="Loves tea").rule_id == "r1"
    assert create_write(DB, 3, b"tea!\n", b"milk\n", candidate_fact="Loves milk").rule_id is None


def test_flagging_a_hundred_writes_asks_once(django_assert_num_queries):
    for number in range(1, 4):
        create_rule(number, f"tea{number}")
    with django_assert_num_queries(1, using=DB):
        rules.flag_writes([build_write(number) for number in range(2, 102)], rules.read_rule_rows(DB))
