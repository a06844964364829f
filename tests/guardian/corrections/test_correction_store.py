"""Corrections of writes, which are stored beside the write, and the rules they become."""

import pytest

from guardian.corrections import rules
from guardian.models import BehaviorCorrection
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.guardian.write_rows import create_write

from .correction_rows import create_correction

pytestmark = pytest.mark.django_db
DB = "agent_ada"


@pytest.fixture(autouse=True)
def write(ada):
    return create_write(DB, 1, None, b"Likes tea.\n")


def refusal(**columns):
    with pytest.raises(Refused) as refused:
        create_correction(**columns)
    return refused.value.sentence


def test_a_correction_keeps_both_sides():
    row = create_correction(status="written", fact=" Likes green tea. ", file="USER.md", reason=" About the user. ")
    assert (row.original_status, row.original_candidate_fact, row.original_target_file) == (
        *("written", "Likes tea.", "MEMORY.md"),
    )
    assert (row.corrected_status, row.corrected_candidate_fact, row.corrected_target_file) == (
        *("written", "Likes green tea.", "USER.md"),
    )
    assert (row.correction_reason, row.corrected_by, row.apply_to_future) == ("About the user.", "oli", False)
    entry = AuditEntry.objects.get(action="write_corrected")
    assert (entry.actor, entry.object_id, entry.agent_id) == ("oli", "w1", "ada")


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "failed"},
        {"status": "rolled_back"},
        {"reason": " "},
        {"status": "written", "file": "AGENTS.md", "fact": "x"},
        {"status": "written"},
        {"status": "written", "fact": "Likes tea.", "file": "MEMORY.md"},
        {"pattern": "tea"},
        {"fact": "x" * 20_001, "status": "written"},
        {"reason": "x" * 20_001},
        {"fact": "a\0b", "status": "written"},
        {"reason": "a\0b"},
        {"reason": "a\udcff"},
        {"apply_to_future": True, "pattern": "tea\0"},
        {"apply_to_future": True, "pattern": "tea|\udcff"},
    ],
)
def test_what_is_no_correction_is_refused(columns):
    assert refusal(**columns).endswith(".")
    assert not BehaviorCorrection.objects.using(DB).exists()


@pytest.mark.parametrize("pattern", ["(", "coffee", ".*", "x*", "a{1000}"])
def test_patterns_that_cannot_be_rules(pattern):
    assert refusal(apply_to_future=True, pattern=pattern).endswith(".")
    assert not BehaviorCorrection.objects.using(DB).exists()


def test_the_pattern_is_proposed_from_the_fact():
    assert create_correction(apply_to_future=True).correction_pattern == r"Likes\W+tea"


def test_a_later_correction_stands_and_ends_the_rule_of_the_one_before():
    first = create_correction(apply_to_future=True)
    assert "says the same" in refusal()
    second = create_correction(status="written", file="USER.md")
    assert [row.id for row in BehaviorCorrection.objects.using(DB).order_by("-corrected_at")] == [second.id, first.id]
    first.refresh_from_db()
    assert first.switched_off_at == second.corrected_at
    assert rules.find_ruling(DB, fact="Likes tea", target_file="USER.md") is None


def test_a_correction_can_be_taken_back_and_become_a_rule_later():
    create_correction()
    assert create_correction(apply_to_future=True).correction_pattern
    assert "says the same" in refusal(apply_to_future=True)
    assert create_correction(status="written").corrected_status == "written"


def test_a_write_without_a_fact_needs_a_pattern():
    create_write(DB, 2, b"a", b"b", candidate_fact=None, origin="imported")
    assert "not known" in refusal(audit_id="w2", apply_to_future=True)
    assert create_correction("w2", apply_to_future=True, pattern="tea").correction_pattern == "tea"


def test_a_rolled_back_write_was_written():
    write = create_write(DB, 2, b"a", b"b")
    type(write).objects.using(DB).filter(id="w2").update(status="rolled_back")
    assert create_correction("w2").original_status == "written"


def test_rules_are_limited():
    for number in range(rules.MAX_RULES):
        create_write(
            DB, number + 10, None, b"x", candidate_fact=f"fact {chr(97 + number // 26)}{chr(97 + number % 26)}"
        )
        create_correction(f"w{number + 10}", apply_to_future=True)
    assert "Switch one off" in refusal(apply_to_future=True)
    create_correction()


def test_words_of_somebody_who_opted_out_are_not_said_again():
    configuration.put("collector.optedOutSenders", ["mia"])
    assert "opted out" in refusal()
    assert not BehaviorCorrection.objects.using(DB).exists()


def test_unknown_writes(ada):
    with pytest.raises(Refused) as refused:
        create_correction("nowhere")
    assert refused.value.status == 404


def test_a_flagged_write_is_approved_against_its_rule():
    create_correction(apply_to_future=True)
    create_write(
        DB,
        2,
        b"Likes tea.\n",
        b"Likes tea!\n",
        candidate_fact="likes TEA",
        rule_id=rules.find_active_rules(DB).get().id,
    )
    assert create_correction("w2", status="written", reason="True now.").corrected_status == "written"
    assert "says the same" in refusal(audit_id="w2", status="written")


def test_a_rule_can_be_agreed_with():
    rule = create_correction(apply_to_future=True)
    create_write(DB, 2, b"Likes tea.\n", b"Likes tea!\n", candidate_fact="likes TEA", rule_id=rule.id)
    assert create_correction("w2").corrected_status == "refused"
