"""`openclaw-web reflection dataset list`."""

import pytest

from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import T0, SampleFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def samples(ada):
    """Three samples of different types and statuses, a minute apart."""
    SampleFactory(id="first", annotation_status="approved")
    SampleFactory(id="second", annotation_status="needs_review", created_at=T0 + 60_000, agent_id="bob")
    SampleFactory(
        id="third", annotation_status="pending", created_at=T0 + 120_000, sample_type="write_guardian_decision"
    )


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), ["third", "second", "first"]),
        (("--limit", 1), ["third"]),
        (("-l", 2), ["third", "second"]),
        (("--status", "approved"), ["first"]),
        (("--needs-review",), ["second"]),
        (("--type", "annotated_turn"), ["second", "first"]),
        (("--type", "annotated_turn", "--status", "pending"), []),
        (("--agent", "bob"), ["second"]),
        (("--session", "session-0", "--status", "pending"), ["third"]),
    ],
)
def test_samples_that_fit_are_listed_newest_first(samples, words, ids):
    assert [row["id"] for row in read_receipt("list", *words)["samples"]] == ids


def test_a_sample_is_told_in_words(samples):
    status, out, _error = run_verb("list", "--status", "approved")
    assert status == 0
    assert out.splitlines() == [
        "2026-01-05 00:00:00 UTC  approved       annotated_turn           first",
        "  Please check the nightly import. → It failed on the last line.",
    ]
    assert run_verb("list", "--status", "rejected")[1] == "No samples.\n"


def test_a_score_is_asked_for(samples):
    sentence = "No sample has a quality score yet. Leave out --quality-above."
    assert read_refusal("list", "--quality-above", "0.5") == sentence
    SampleFactory(id="good", quality_score=0.9, created_at=T0 - 60_000)
    SampleFactory(id="exact", quality_score=0.5)
    assert [row["id"] for row in read_receipt("list", "--quality-above", "0.5")["samples"]] == ["good"]
    assert "annotated_turn           good  0.90" in run_verb("list", "--quality-above", "0.5")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--limit", 0), "--limit must be 1 to 1000."),
        (("--limit", 1001), "--limit must be 1 to 1000."),
        (("--quality-above", 1.5), "--quality-above must be 0 to 1."),
        (("--status", "approved", "--needs-review"), "not allowed with argument"),
        (("--status", "fine"), "invalid choice: 'fine'"),
    ],
)
def test_wrong_use_is_a_sentence(samples, words, sentence):
    assert sentence in read_refusal("list", *words, status=2)


def test_hidden_characters_are_shown(ada):
    SampleFactory(id="odd\u202e", output="a\x1b[31mb")
    out = run_verb("list")[1]
    assert "\u202e" not in out and "\x1b" not in out
