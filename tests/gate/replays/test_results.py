"""The result of a replay: agreement, changes, latency, cost, and scores against verdicts."""

import pytest

from gate.models import GateSessionSums, MemoryGateStats
from gate.replays import results
from gate.statistics import sums
from people.configuration import setting_values as configuration
from tests.gate.runner.judged_turns import DB, USED, answer, decides
from tests.llm_endpoint import fails, says

from .replay_rows import create_decisions, run_replay

pytestmark = pytest.mark.django_db
WRITE = answer("UPDATE_USER")
NOTHING = answer("NO_WRITE", fact=None)


def test_a_matrix_and_an_agreement(ada, endpoint):
    create_decisions(4, names=("NO_WRITE", "NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"))
    endpoint.then(says(WRITE), says(WRITE), says(NOTHING), says(WRITE))  # d3, d2, d1, d0
    result = results.read_result(DB, run_replay(ada)[0])
    assert result.matrix == {
        ("UPDATE_SOUL", "UPDATE_USER"): 1,
        ("UPDATE_USER", "UPDATE_USER"): 1,
        ("NO_WRITE", "NO_WRITE"): 1,
        ("NO_WRITE", "UPDATE_USER"): 1,
    }
    assert (result.agreed, result.decided, result.agreement) == (2, 4, 0.5)
    assert result.used == ["NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"]


def test_cost_and_latency_on_both_sides(ada, endpoint):
    configuration.put("llm.prices", ["other: 1 10"])
    create_decisions(3, cost_usd=0.5)
    endpoint.then(decides(), fails(500), decides())
    result = results.read_result(DB, run_replay(ada)[0])
    assert (result.original.p50, result.original.p95, result.original.cost_usd) == (1_001, 1_002, 1.5)
    assert result.replay.cost_usd == pytest.approx(3 * (700 + 400) / 1_000_000)
    assert (result.replay.prompt_tokens, result.replay.completion_tokens) == (3 * USED["prompt_tokens"], 120)
    assert result.calls == 4  # one of them failed
    assert result.spent_usd == pytest.approx(result.replay.cost_usd)


def test_what_is_not_known_is_not_nothing(ada, endpoint):
    create_decisions(1)
    endpoint.then(says(WRITE))
    result = results.read_result(DB, run_replay(ada)[0])
    assert (result.replay.cost_usd, result.replay.prompt_tokens, result.original.cost_usd) == (None, None, None)


def test_both_gates_against_verdicts(ada, endpoint):
    create_decisions(4, names=("NO_WRITE", "NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"))
    endpoint.then(says(WRITE), says(WRITE), says(NOTHING), says(WRITE))  # d3, d2, d1, d0
    replay_row = run_replay(ada)[0]
    verdicts = {"d0": "UPDATE_USER", "d1": "NO_WRITE", "d3": "UPDATE_SOUL", "another": "NO_WRITE"}
    judged = results.score_gates(DB, replay_row.id, verdicts)
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
    create_decisions(3)
    before = [list(model.objects.using(DB).values()) for model in (MemoryGateStats, GateSessionSums)]
    endpoint.then(says("no decision"), fails(401), decides())
    run_replay(ada)
    assert [list(model.objects.using(DB).values()) for model in (MemoryGateStats, GateSessionSums)] == before
    assert [*sums.find_wrong(DB)] == []
