"""The list of calls of models for the gate."""

import csv
import io

import pytest

from gate.models import GateCall
from tests.factories import T0, GateCallFactory
from tests.gate.decision_rows import create_turns
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/gate/calls/", "/api/v1/agents/ada/gate/calls"
EVERY = ["c3", "c2", "c1", "c0"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def calls(ada):
    """Calls with each outcome, one a minute."""
    create_turns()
    for number, outcome in enumerate(("failed", "malformed", "decided", "sent")):
        columns = {"session_id": "s1", "turn_id": f"s1:u{number}", "created_at": T0 + number, "outcome": outcome}
        GateCallFactory(id=f"c{number}", reason=f"reason {number}", failure="", **columns)


def read_ids(page):
    return [row["id"] for part in page.context["parts"] for row in part["rows"]]


def test_it_works(as_stranger, calls):
    GateCallFactory(
        id="c9", session_id="s1", turn_id="s1:u1", llm_model="gate-1", llm_latency_ms=1500, attempt=2,
        prompt_tokens=4000, cost_usd=0.0021, decision_id="d1", created_at=T0 + 9,
    )  # fmt: skip
    page = as_stranger.get(ADA)
    assert read_ids(page) == ["c9", "c0"]  # those that failed come first
    for words in ("The endpoint did not answer.", "gate-1", "1.5 s", "4.0k", "$0.0021", "Question 1"):
        assert words in get_text(page)
    assert 'href="/agents/ada/gate/calls/c9/"' in get_text(page) and 'href="/agents/ada/gate/d1/"' in get_text(page)
    assert 'href="/agents/ada/sessions/s1/?turn=1"' in get_text(page)


def test_without_failures_it_opens_on_everything(as_stranger, calls, ada):
    GateCall.objects.using(ada.db).filter(outcome="failed").update(outcome="decided")
    assert read_ids(as_stranger.get(ADA)) == EVERY
    assert read_ids(as_stranger.get(f"{ADA}?segment=failed")) == []


def test_no_response_is_in_a_file_or_a_list(as_operator, ada):
    GateCallFactory(raw_response="the secret answer")
    for answer in (as_operator.get(ADA), as_operator.get(API)):
        assert "the secret answer" not in get_text(answer)
    assert as_operator.get(API).json()["items"][0]["has_raw_response"]
    text = as_operator.get(f"{ADA}?format=csv").getvalue().decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["reason"] == "The endpoint did not answer." and "secret" not in text
