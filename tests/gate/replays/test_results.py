"""What a replay tells: agreement, who became what, latency and cost, and both gates against verdicts."""

import pytest

from gate.models import GateSessionSums, MemoryGateStats
from gate.replays import results
from gate.statistics import deep_checks
from people.configuration import setting_values as configuration
from tests.gate.runner.judged import DB, USED, answer, decides
from tests.llm_endpoint import fails, says

from .played import decided, replay

pytestmark = pytest.mark.django_db
WRITE = answer("UPDATE_USER")
NOTHING = answer("NO_WRITE", fact=None)


def test_a_matrix_and_an_agreement(ada, endpoint):
    decided(4, names=("NO_WRITE", "NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"))
    endpoint.then(says(WRITE), says(WRITE), says(NOTHING), says(WRITE))  # d3, d2, d1, d0
    found = results.read_result(DB, replay(ada)[0])
    assert found.matrix == {
        ("UPDATE_SOUL", "UPDATE_USER"): 1,
        ("UPDATE_USER", "UPDATE_USER"): 1,
        ("NO_WRITE", "NO_WRITE"): 1,
        ("NO_WRITE", "UPDATE_USER"): 1,
    }
    assert (found.agreed, found.decided, found.agreement) == (2, 4, 0.5)
    assert found.used == ["NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"]


def test_cost_and_latency_on_both_sides(ada, endpoint):
    configuration.put("llm.prices", ["other: 1 10"])
    decided(3, cost_usd=0.5)
    endpoint.then(decides(), fails(500), decides())
    found = results.read_result(DB, replay(ada)[0])
    assert (found.original.p50, found.original.p95, found.original.cost_usd) == (1_001, 1_002, 1.5)
    assert found.replay.cost_usd == pytest.approx(3 * (700 + 400) / 1_000_000)
    assert (found.replay.prompt_tokens, found.replay.completion_tokens) == (3 * USED["prompt_tokens"], 120)
    assert found.calls == 4  # one of them failed
    assert found.spent_usd == pytest.approx(found.replay.cost_usd)


def test_what_is_not_known_is_not_nothing(ada, endpoint):
    decided(1)
    endpoint.then(says(WRITE))
    found = results.read_result(DB, replay(ada)[0])
    assert (found.replay.cost_usd, found.replay.prompt_tokens, found.original.cost_usd) == (None, None, None)


def test_both_gates_against_verdicts(ada, endpoint):
    decided(4, names=("NO_WRITE", "NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"))
    endpoint.then(says(WRITE), says(WRITE), says(NOTHING), says(WRITE))  # d3, d2, d1, d0
    found = replay(ada)[0]
    verdicts = {"d0": "UPDATE_USER", "d1": "NO_WRITE", "d3": "UPDATE_SOUL", "another": "NO_WRITE"}
    judged = results.score_gates(DB, found.id, verdicts)
    assert (judged.count, judged.original, judged.replay) == (3, 2, 2)
    scores = {score.decision: score for score in judged.scores}
    assert scores.keys() == {"NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"}
    nothing = scores["NO_WRITE"]
    assert (nothing.original.precision, nothing.original.recall) == (0.5, 1.0)
    assert (nothing.replay.precision, nothing.replay.recall) == (1.0, 1.0)
    user = scores["UPDATE_USER"]
    assert (user.original.precision, user.original.recall) == (None, 0.0)
    assert (user.replay.precision, user.replay.recall) == (0.5, 1.0)


def test_a_replay_counts_in_no_statistics(ada, endpoint):
    decided(3)
    before = [list(model.objects.using(DB).values()) for model in (MemoryGateStats, GateSessionSums)]
    endpoint.then(says("no decision"), fails(401), decides())
    replay(ada)
    assert [list(model.objects.using(DB).values()) for model in (MemoryGateStats, GateSessionSums)] == before
    assert not deep_checks.find_differences(DB)
