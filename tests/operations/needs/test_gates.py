"""What operators are told of the gates of agents: drift, and a model that fails."""

import pytest

from gate.recording import storing
from openclaw_web import clock
from operations.needs import gates
from people.configuration import keys as configuration
from tests.factories import BackupRunFactory
from tests.gate.statistics.decided import DAY_MS, DB, decide, failed, midnight

PAGE = "/operations/"
pytestmark = pytest.mark.django_db
MINUTE_MS = 60_000


@pytest.fixture(autouse=True)
def proven(settings, tmp_path):
    settings.HOME_DIR = tmp_path
    BackupRunFactory(proven_at=clock.now_ms())


def calls(*outcomes, minutes_ago=10, **columns):
    start = clock.now_ms() - minutes_ago * MINUTE_MS
    storing.store_calls(DB, [failed(one, created_at=start + n, **columns) for n, one in enumerate(outcomes)])


def test_all_is_well(as_operator, ada):
    decide("NO_WRITE", 5, 0)
    calls("failed", "malformed", "failed", "failed", "decided")
    assert "No problems" in as_operator.get(PAGE).text


def test_drift(as_operator, ada):
    decide("NO_WRITE", 60, 20)
    decide("UPDATE_USER", 60, 2)
    text = as_operator.get(PAGE).text
    assert "Memory gate of ada" in text and "/agents/ada/gate/statistics/" in text
    assert "UPDATE_USER: 100% of decisions in the last seven days, 0% in the four weeks before." in text
    configuration.put("memoryGateAuditing.enableStats", False)
    assert "No problems" in as_operator.get(PAGE).text


def test_our_own_gate_failed_five_times_in_a_row(as_operator, ada):
    calls("decided", "failed", "failed", "failed", "malformed")
    assert "No problems" in as_operator.get(PAGE).text
    calls("failed", "sent", minutes_ago=5)
    assert "The latest calls of the gate&#x27;s model failed" in as_operator.get(PAGE).text.replace("&#39;", "&#x27;")


def test_what_failed_long_ago_or_in_a_replay_needs_nothing(as_operator, ada):
    calls(*["failed"] * 5, minutes_ago=2 * DAY_MS // MINUTE_MS)
    calls(*["failed"] * 5, replay_id="r1")
    calls(*["failed"] * 5, origin="imported")
    assert "No problems" in as_operator.get(PAGE).text


def test_many_failures_of_a_day(as_operator, ada):
    decide("NO_WRITE", 6, 0)
    storing.store_calls(DB, [failed(origin="imported", created_at=midnight() + n) for n in range(4)])
    assert "4 of 10 calls of the gate" in as_operator.get(PAGE).text


def test_the_number_in_the_rail_counts_them(as_operator, ada):
    calls(*["failed"] * 5)
    assert "1 problem<" in as_operator.get("/operations/needs/").text


def test_an_agents_file_is_not_asked_again_while_it_is_the_same(as_operator, real_files, settings, later):
    from agents import services as agents

    settings.HOME_DIR = real_files
    agent = agents.register("main")
    gates._known.clear()
    assert list(gates.notices()) == []
    state = gates._state("main")
    assert gates._known["main", "en"].state == state
    storing.store_calls(agent.db, [failed(created_at=clock.now_ms() + n) for n in range(5)])
    assert list(gates.notices()) == []
    later(seconds=31)
    assert [agent_id for agent_id, _notice in gates.notices()] == ["main"]
