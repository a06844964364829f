"""The list of calls of models for the gate."""

import csv
import io
import re

import pytest

from gate.models import GateCall
from tests.factories import T0, GateCallFactory, SessionFactory
from tests.gate.decided import EVIL, talk
from tests.ledger.talks import text_of

ADA, API = "/agents/ada/gate/calls/", "/api/v1/agents/ada/gate/calls"
EVERY = ["c3", "c2", "c1", "c0"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def calls(ada):
    """Calls with each outcome, one a minute."""
    talk()
    for number, outcome in enumerate(("failed", "malformed", "decided", "sent")):
        columns = {"session_id": "s1", "turn_id": f"s1:u{number}", "created_at": T0 + number, "outcome": outcome}
        GateCallFactory(id=f"c{number}", reason=f"reason {number}", failure="", **columns)


def shown(page):
    return [row["id"] for row in page.context["rows"]]


def test_it_works(as_stranger, calls):
    GateCallFactory(
        id="c9", session_id="s1", turn_id="s1:u1", llm_model="gate-1", llm_latency_ms=1500, attempt=2,
        prompt_tokens=4000, cost_usd=0.0021, decision_id="d1", created_at=T0 + 9,
    )  # fmt: skip
    page = as_stranger.get(ADA)
    assert shown(page) == ["c9", "c0"]  # those that failed come first
    for words in ("The endpoint did not answer.", "gate-1", "1.5 s", "4.0k", "$0.0021", "Question 1"):
        assert words in text_of(page)
    assert 'href="c9/"' in text_of(page) and 'href="../d1/"' in text_of(page)
    assert 'href="../../sessions/s1/?turn=1"' in text_of(page)


@pytest.mark.parametrize(
    ("segment", "wanted"),
    [
        ("failed", ["c0"]),
        ("malformed", ["c1"]),
        ("decided", ["c2"]),
        ("sent", ["c3"]),
        ("all", ["c3", "c2", "c1", "c0"]),
    ],
)
def test_each_outcome_is_a_part_of_the_list(as_stranger, calls, segment, wanted):
    page = as_stranger.get(f"{ADA}?segment={segment}")
    assert shown(page) == wanted
    assert [row["id"] for row in as_stranger.get(f"{API}?segment={segment}").json()["items"]] == wanted
    assert all(re.search(rf">{word} <span class=\"muted\">1<", text_of(page)) for word in ("Failed", "Malformed"))


def test_without_failures_it_opens_on_everything(as_stranger, calls, ada):
    GateCall.objects.using(ada.db).filter(outcome="failed").update(outcome="decided")
    assert shown(as_stranger.get(ADA)) == EVERY
    assert shown(as_stranger.get(f"{ADA}?segment=failed")) == []


@pytest.mark.parametrize("query", ["model=gate-2", "session=s2", "session=agent:ada:main"])
def test_filters(as_stranger, calls, query):
    SessionFactory(id="s2", session_key="agent:ada:main")
    GateCallFactory(id="other", session_id="s2", llm_model="gate-2", outcome="decided")
    assert shown(as_stranger.get(f"{ADA}?{query}")) == ["other"]
    assert [row["id"] for row in as_stranger.get(f"{API}?{query}").json()["items"]] == ["other"]


def test_adas_page_does_not_show_bobs_rows(as_stranger, calls, bob):
    GateCallFactory(id="bobs", db="agent_bob")
    assert shown(as_stranger.get(f"{ADA}?segment=all")) == EVERY
    assert shown(as_stranger.get("/agents/bob/gate/calls/")) == ["bobs"]


def test_no_response_is_in_a_file_or_a_list(as_operator, ada):
    GateCallFactory(raw_response="the secret answer")
    for answer in (as_operator.get(ADA), as_operator.get(API)):
        assert "the secret answer" not in text_of(answer)
    assert as_operator.get(API).json()["items"][0]["has_raw_response"]
    text = as_operator.get(f"{ADA}?format=csv").getvalue().decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["reason"] == "The endpoint did not answer." and "secret" not in text


def test_hostile_texts_are_texts(as_stranger, ada):
    GateCallFactory(id="<i>", reason=EVIL, llm_model=EVIL, session_id=EVIL, decision_id=EVIL)
    page = text_of(as_stranger.get(ADA))
    assert "<script>alert" not in page and "<i>" not in page and "\u202e" not in page.partition("<tbody>")[2]


def test_without_calls_it_says_when_there_will_be_some(as_stranger, ada):
    assert "No calls yet" in text_of(as_stranger.get(ADA))
