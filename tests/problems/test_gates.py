"""Problems of gates: drift, a model that fails, and a gate that sees no message of the user."""

import pytest

from agents import services as agents
from gate.recording import decision_store
from openclaw_web import clock
from people.configuration import setting_values as configuration
from problems.models import ProblemCheck
from tests.gate.statistics.decided import DAY_MS, DB, decide, failed, midnight

from .check_results import check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proven")]
MINUTE_MS = 60_000


def calls(*outcomes, minutes_ago=10, **columns):
    start = clock.now_ms() - minutes_ago * MINUTE_MS
    decision_store.store_calls(DB, [failed(one, created_at=start + n, **columns) for n, one in enumerate(outcomes)])


def test_all_is_well(ada):
    decide("NO_WRITE", 5, 0)
    calls("failed", "malformed", "failed", "failed", "decided")
    assert check() == []


def test_drift(as_operator, ada):
    decide("NO_WRITE", 60, 20)
    decide("UPDATE_USER", 60, 2)
    (sentence,) = check()
    assert sentence.startswith("NO_WRITE of ada fell from 100.0% (60 decisions, four weeks before) to 0.0% (60 decisio")
    assert "/agents/ada/gate/statistics/" in as_operator.get("/operations/").text
    configuration.put("memoryGateAuditing.enableStats", False)
    assert check() == []


def test_our_own_gate_failed_five_times_in_a_row(ada):
    calls("decided", "failed", "failed", "failed", "malformed")
    assert check() == []
    calls("failed", "sent", minutes_ago=5)
    assert check() == ["The last 5 calls of the gate's model for ada failed. Check its endpoint."]


def test_what_failed_long_ago_or_in_a_replay_needs_nothing(ada):
    calls(*["failed"] * 5, minutes_ago=2 * DAY_MS // MINUTE_MS)
    calls(*["failed"] * 5, replay_id="r1")
    calls(*["failed"] * 5, origin="imported")
    assert check() == []


def test_many_failures_of_a_day(ada):
    decide("NO_WRITE", 6, 0)
    decision_store.store_calls(DB, [failed(origin="imported", created_at=midnight() + n) for n in range(4)])
    (sentence,) = check()
    assert sentence.startswith("4 of 10 calls of the gate's model for ada failed in the last 24 hours.")


@pytest.mark.parametrize(
    ("unseen", "of", "days", "is_told"), [(2, 10, 1, True), (1, 10, 1, False), (9, 9, 1, False), (9, 10, 29, False)]
)
def test_a_gate_that_sees_no_message(ada, unseen, of, days, is_told):
    decide("NO_WRITE", unseen, days, saw_user=False)
    decide("NO_WRITE", of - unseen, days, saw_user=True)
    said = [f"The gate of ada saw no user message in {unseen} of {of} decisions."]
    assert check() == (said if is_told else [])


def test_an_agents_file_is_not_asked_again_while_it_is_the_same(real_files, later):
    db = agents.register("main").db
    assert check() == []
    checked = ProblemCheck.objects.get(place="main")
    later(seconds=60)
    assert check() == []
    assert ProblemCheck.objects.get(place="main").checked_at == checked.checked_at
    decision_store.store_calls(db, [failed(created_at=clock.now_ms() - n) for n in range(5)])
    failing = "The last 5 calls of the gate's model for main failed. Check its endpoint."
    assert failing in check()
    later(hours=25)  # what is said of a day ends by itself
    assert failing not in check()
