"""`openclaw-web reflection dataset findings`."""

import pytest

from datasets.models import FindingValue, FindingVerdict
from jobs.models import JobRun
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import T0

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada", "own_home")]
MAIL, KEY = "a" * 32, "b" * 32


@pytest.fixture
def values():
    for number, (value_hash, kind) in enumerate(((MAIL, "email"), (KEY, "key"))):
        FindingValue.objects.create(
            value_hash=value_hash, kind=kind, rule=f"{kind}-rule", confidence=0.9, places=3, agents=1,
            first_found_at=T0 + number,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "hashes"),
    [((), [KEY, MAIL]), (("--kind", "email"), [MAIL]), (("--state", "dismissed"), []), (("-l", "1"), [KEY])],
)
def test_values_that_fit_are_listed(values, words, hashes):
    receipt = read_receipt("findings", *words)
    assert [row["value_hash"] for row in receipt["findings"]] == hashes and receipt["scan"] is None


def test_a_value_is_told_in_words(values):
    out = run_verb("findings", "--kind", "email")[1]
    assert f"open       email        {MAIL}\n" in out and "places: 3, agents: 1, rule: email-rule" in out


@pytest.mark.parametrize(("option", "state"), [("--confirm", "confirmed"), ("--dismiss", "dismissed")])
def test_a_value_is_judged(values, option, state):
    receipt = read_receipt("findings", option, MAIL, "--notes", "seen")
    assert (receipt["finding"]["state"], receipt["finding"]["decided_by"]) == (state, "command line")
    row = FindingVerdict.objects.get()
    assert (row.verdict, row.scope, row.value_hash, row.notes) == (state, "value", MAIL, "seen")
    assert FindingValue.objects.get(value_hash=KEY).state == "open"


def test_a_scan_is_a_job():
    receipt = read_receipt("findings", "--scan", "--quiet")
    assert receipt["scan"]["remaining"] == 0 and receipt["unscanned"] == 0
    assert JobRun.objects.get(kind="findings_scan").started_by == "command line"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--dismiss", "nothing"), 3, "There is no finding nothing."),
        (("--agent", "nope"), 3, "There is no agent nope."),
        (("--agent", "nope", "--scan", "--quiet"), 3, "There is no agent nope."),
        (("--dismiss", MAIL, "--confirm", MAIL), 2, "not allowed with argument"),
        (("--limit", "0"), 2, "--limit must be 1 to 1000."),
        (("--kind", "name"), 2, "invalid choice"),
    ],
)
def test_wrong_use_is_a_sentence(values, words, status, sentence):
    assert sentence in read_refusal("findings", *words, status=status)
    assert not FindingVerdict.objects.exists() and not JobRun.objects.exists()
