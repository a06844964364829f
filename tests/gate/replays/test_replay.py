"""Replays: another gate decides again on the windows of stored decisions."""

import orjson
import pytest

from gate.models import GatePrompt, MemoryGateDecision
from gate.replays import replay_launch, results
from gate.replays.replay_request import ReplayRequest
from jobs import services as jobs
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.gate.runner.judged_turns import DB, answer, decides
from tests.llm_endpoint import fails, says

from .replay_rows import calls, create_decisions, lose_window, replays, rows, run_replay

pytestmark = pytest.mark.django_db


def originals():
    return list(MemoryGateDecision.objects.using(DB).order_by("id").values())


def test_another_gate_decides_on_the_same_windows(ada, endpoint):
    create_decisions(4)
    before = originals()
    replay_row, job = run_replay(ada, prompt="Decide\r\notherwise.")
    assert (job.state, job.message) == ("finished", "4 decisions replayed. 2 are different.")
    assert originals() == before
    assert [(row.decision_id, row.original, row.decision, row.is_same) for row in rows()] == [
        ("d3", "UPDATE_USER", "UPDATE_USER", True),
        ("d2", "NO_WRITE", "UPDATE_USER", False),
        ("d1", "UPDATE_USER", "UPDATE_USER", True),
        ("d0", "NO_WRITE", "UPDATE_USER", False),
    ]
    assert (replay_row.state, replay_row.total, replay_row.decided, replay_row.agreed) == ("finished", 4, 4, 2)
    sent = endpoint.requests[0].question
    assert sent["model"] == "other"
    assert sent["messages"][0]["content"] == "Decide\notherwise."
    assert orjson.loads(sent["messages"][1]["content"])["currentUserMessage"] == "Question 3"
    assert GatePrompt.objects.using(DB).get(id=replay_row.prompt_version).text == "Decide\notherwise."


def test_its_calls_are_its_own_and_keep_the_responses(ada, endpoint):
    create_decisions(1)
    replay_row, _job = run_replay(ada)
    call = calls().get()
    assert (call.replay_id, call.decision_id, call.outcome) == (replay_row.id, "d0", "decided")
    assert call.raw_response == answer()
    configuration.put("memoryGateAuditing.storeRawLLMResponse", False)
    run_replay(ada)
    assert [row.raw_response for row in calls()] == [answer(), None]


def test_filters_choose_and_the_newest_come_first(ada, endpoint):
    create_decisions(6)
    run_replay(ada, filters={"decision": "NO_WRITE"}, limit=2)
    assert [row.decision_id for row in rows()] == ["d4", "d2"]
    assert orjson.loads(replays().get().filters_json) == {"filters": {"decision": "NO_WRITE"}, "limit": 2}


def test_a_search_for_words_chooses_too(ada, endpoint):
    create_decisions(3, reason="Nothing new.")
    with pytest.raises(Refused, match="None of these decisions"):
        run_replay(ada, filters={"q": "elephant"})
    run_replay(ada, filters={"q": "nothing"})
    assert rows().count() == 3


def test_decisions_without_a_window_are_skipped_and_counted(ada, endpoint):
    first, *_others = create_decisions(3)
    lose_window(first)
    replay_row, _job = run_replay(ada)
    assert (replay_row.total, replay_row.skipped, len(endpoint.requests)) == (2, 1, 2)


def test_an_answer_that_is_no_decision_is_none(ada, endpoint):
    create_decisions(2)
    endpoint.then(says("I would say: nothing."), decides())
    replay_row, job = run_replay(ada)
    assert job.message == "1 decision replayed. 1 is different. 1 answer was no decision."
    assert [(row.outcome, row.decision) for row in rows()] == [("malformed", None), ("decided", "UPDATE_USER")]
    assert replay_row.state == "finished"
    assert results.read_result(DB, replay_row).outcomes["malformed"] == 1


def test_what_was_not_answered_waits_and_is_asked_again(ada, endpoint):
    create_decisions(3)
    endpoint.then(decides(), *[fails(500)] * 6, decides())
    replay_row, job = run_replay(ada)
    assert job.message.startswith("1 decision replayed. 1 is different. 2 decisions were not replayed.")
    assert (replay_row.state, [row.outcome for row in rows()]) == ("stopped", ["decided", "waiting", "waiting"])
    job = jobs.run_now("gate_replay", {"agent": "ada", "replay": replay_row.id}, by="root")
    assert (job.done, job.total, job.message) == (3, 3, "3 decisions replayed. 2 are different.")
    replay_row.refresh_from_db()
    assert (replay_row.state, replay_row.decided) == ("finished", 3)
    with pytest.raises(Refused, match="This replay has replayed"):
        replay_launch.continue_replay(ada, replay_row, by="root")


def test_the_limit_of_the_day_ends_it_and_is_shared_with_the_gate(ada, endpoint):
    create_decisions(3)
    configuration.put("memoryGate.tokensPerDay", 4_500)
    endpoint.then(says(answer(), prompt_tokens=1_500, completion_tokens=500))
    replay_row, job = run_replay(ada)
    assert "The limit of 4,500 tokens a day is reached" in job.message
    assert (replay_row.state, replay_row.decided) == ("stopped", 1)


def test_the_model_in_force_is_not_needed(ada, endpoint):
    create_decisions(1)
    configuration.put("llm.model", "")
    assert run_replay(ada)[1].state == "finished"
    with pytest.raises(Refused, match="Name the model"):
        run_replay(ada, model="")


def test_a_decision_that_went_meanwhile_is_lost(ada, endpoint):
    create_decisions(2)
    replay_row, job = replay_launch.start_replay(ada, ReplayRequest(model="other"), by="otto")
    MemoryGateDecision.objects.using(DB).filter(id="d1").delete()
    jobs.run_now(job.kind, orjson.loads(job.params_json), by="otto")
    assert [row.outcome for row in rows()] == ["lost", "decided"]
    replay_row.refresh_from_db()
    assert replay_row.state == "finished"


def test_a_replay_that_there_is_not_is_refused(ada, endpoint):
    assert jobs.run_now("gate_replay", {"agent": "ada", "replay": "x"}, by="root").state == "refused"


def test_one_that_was_cancelled_has_stopped(ada, endpoint):
    create_decisions(2)
    replay_row, job = replay_launch.start_replay(ada, ReplayRequest(model="other"), by="otto")
    jobs.cancel(job, by="otto")
    replay_row.refresh_from_db()
    assert replay_row.state == "stopped"
    job = replay_launch.continue_replay(ada, replay_row, by="otto")
    replay_row.refresh_from_db()
    assert (replay_row.state, replay_row.job_id) == ("running", job.id)
