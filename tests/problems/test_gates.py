"""Problems of gates: drift, failing models, and gates that see no user message."""

import pytest

from agents import services as agents
from gate.recording import decision_store
from openclaw_web import clock
from people.configuration import setting_values as configuration
from problems.models import ProblemCheck
from tests.gate.statistics.statistics_rows import DAY_MS, DB, make_failed_call, midnight, store_decisions

from .check_results import check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proven")]
MINUTE_MS = 60_000


def store_gate_calls(*outcomes, minutes_ago=10, **columns):
    start = clock.now_ms() - minutes_ago * MINUTE_MS
    decision_store.store_calls(
        DB, [make_failed_call(outcome, created_at=start + n, **columns) for n, outcome in enumerate(outcomes)]
    )


def test_all_is_well(ada):
    store_decisions("NO_WRITE", 5, 0)
    store_gate_calls("failed", "malformed", "failed", "failed", "decided")
    assert check() == []


def test_drift(as_operator, ada):
    store_decisions("NO_WRITE", 60, 20)
    store_decisions("UPDATE_USER", 60, 2)
    (sentence,) = check()
    assert sentence.startswith("NO_WRITE of ada fell from 100.0% (60 decisions, four weeks before) to 0.0% (60 decisio")
    assert "/agents/ada/gate/statistics/" in as_operator.get("/operations/").text
    configuration.put("memoryGateAuditing.enableStats", False)
    assert check() == []


def test_our_own_gate_failed_five_times_in_a_row(ada):
    store_gate_calls("decided", "failed", "failed", "failed", "malformed")
    assert check() == []
    store_gate_calls("failed", "sent", minutes_ago=5)
    assert check() == ["The last 5 calls of the gate's model for ada failed. Check its endpoint."]


def test_what_failed_long_ago_or_in_a_replay_needs_nothing(ada):
    store_gate_calls(*["failed"] * 5, minutes_ago=2 * DAY_MS // MINUTE_MS)
    store_gate_calls(*["failed"] * 5, replay_id="r1")
    store_gate_calls(*["failed"] * 5, origin="imported")
    assert check() == []


def test_many_failures_of_a_day(ada):
    store_decisions("NO_WRITE", 6, 0)
    decision_store.store_calls(DB, [make_failed_call(origin="imported", created_at=midnight() + n) for n in range(4)])
    (sentence,) = check()
    assert sentence.startswith("4 of 10 calls of the gate's model for ada failed in the last 24 hours.")


@pytest.mark.parametrize(
    ("unseen", "count", "days", "is_told"), [(2, 10, 1, True), (1, 10, 1, False), (9, 9, 1, False), (9, 10, 29, False)]
)
def test_a_gate_that_sees_no_message(ada, unseen, count, days, is_told):
    store_decisions("NO_WRITE", unseen, days, saw_user=False)
    store_decisions("NO_WRITE", count - unseen, days, saw_user=True)
    expected = [f"The gate of ada saw no user message in {unseen} of {count} decisions."]
    assert check() == (expected if is_told else [])


def test_an_agents_file_is_not_asked_again_while_it_is_the_same(real_files, later):
    db = agents.register("main").db
    assert check() == []
    checked = ProblemCheck.objects.get(place="main")
    later(seconds=60)
    assert check() == []
    assert ProblemCheck.objects.get(place="main").checked_at == checked.checked_at
    decision_store.store_calls(db, [make_failed_call(created_at=clock.now_ms() - n) for n in range(5)])
    failing = "The last 5 calls of the gate's model for main failed. Check its endpoint."
    assert failing in check()
    later(hours=25)  # a problem about one day closes by itself
    assert failing not in check()
