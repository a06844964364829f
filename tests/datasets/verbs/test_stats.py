"""`openclaw-web reflection dataset stats`."""

import pytest

from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]
ALL = {"days", "types", "statuses", "quality", "labellers"}
COMMON = {"ok", "schema", "first_day", "last_day", "created", "verdicts"}


@pytest.fixture
def samples():
    SampleFactory(id="one")
    SampleFactory(id="two", annotation_status="approved", sample_type="write_guardian_decision")
    assert run_verb("approve", "one")[0] == 0


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), ALL),
        (("--daily",), {"days"}),
        (("--by-type",), {"types"}),
        (("--by-status", "--quality-distribution"), {"statuses", "quality"}),
        (("--by-labeller",), {"labellers"}),
    ],
)
def test_the_receipt_has_what_is_asked_for(samples, words, names):
    assert set(read_receipt("stats", *words)) == COMMON | names


def test_the_numbers_are_those_of_the_samples(samples):
    receipt = read_receipt("stats", "--since", "2026-01-05", "--until", "2026-01-05")
    assert (receipt["created"], receipt["verdicts"]) == (2, 0)
    assert receipt["types"] == {"annotated_turn": 1, "write_guardian_decision": 1}
    assert receipt["statuses"] == {"approved": 2} and receipt["quality"] is None
    (day,) = receipt["days"]
    assert (day["first_day"], day["created"], day["approved"]) == ("2026-01-05", 2, 0)
    (labeller,) = read_receipt("stats", "--by-labeller")["labellers"]
    assert (labeller["name"], labeller["verdicts"], labeller["approve_share"]) == ("command line", 1, 1.0)


def test_they_are_told_in_words(samples):
    out = run_verb("stats", "--since", "2026-01-05", "--until", "2026-01-05")[1]
    assert out.startswith("2026-01-05 to 2026-01-05 (UTC): samples created: 2, verdicts: 0\n")
    assert "No sample has a quality score yet." in out
    assert "  2026-01-05  created 2, verdicts 0 (approved 0, rejected 0)\n" in out
    SampleFactory(id="good", quality_score=1)
    assert "  0.9–1.0  1\n" in run_verb("stats", "--quality-distribution")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--since", "yesterday"), "Write days like 2026-02-21."),
        (("--since", "2026-02-01", "--until", "2026-01-01"), "The first day is after the last day."),
        (("--since", "2020-01-01", "--until", "2026-01-01"), "Statistics cover at most 1,000 days."),
        (("--until", "0001-01-01"), "Choose days of the years 1970 to 2999."),
    ],
)
def test_days_that_cannot_be_are_a_sentence(words, sentence):
    assert sentence in read_refusal("stats", *words)
