"""A replay: another gate decides again on the windows, beside the originals."""

import orjson
import pytest

from gate.models import GatePrompt, MemoryGateDecision
from gate.replays import replay_launch, results
from gate.replays.replay_request import ReplayRequest
from jobs import services as jobs
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.gate.runner.judged import DB, answer, decides
from tests.llm_endpoint import fails, says

from .played import calls, decided, lose_window, replay, replays, rows

pytestmark = pytest.mark.django_db


def originals():
    return list(MemoryGateDecision.objects.using(DB).order_by("id").values())


def test_another_gate_decides_on_the_same_windows(ada, endpoint):
    decided(4)
    before = originals()
    found, job = replay(ada, prompt="Decide\r\notherwise.")
    assert (job.state, job.message) == ("finished", "4 decisions replayed. 2 are different.")
    assert originals() == before
    assert [(row.decision_id, row.original, row.decision, row.is_same) for row in rows()] == [
        ("d3", "UPDATE_USER", "UPDATE_USER", True),
        ("d2", "NO_WRITE", "UPDATE_USER", False),
        ("d1", "UPDATE_USER", "UPDATE_USER", True),
        ("d0", "NO_WRITE", "UPDATE_USER", False),
    ]
    assert (found.state, found.total, found.decided, found.agreed) == ("finished", 4, 4, 2)
    sent = endpoint.requests[0].question
    assert sent["model"] == "other"
    assert sent["messages"][0]["content"] == "Decide\notherwise."
    assert orjson.loads(sent["messages"][1]["content"])["currentUserMessage"] == "Question 3"
    assert GatePrompt.objects.using(DB).get(id=found.prompt_version).text == "Decide\notherwise."


def test_its_calls_are_its_own_and_keep_the_responses(ada, endpoint):
    decided(1)
    found, _job = replay(ada)
    call = calls().get()
    assert (call.replay_id, call.decision_id, call.outcome) == (found.id, "d0", "decided")
    assert call.raw_response == answer()
    configuration.put("memoryGateAuditing.storeRawLLMResponse", False)
    replay(ada)
    assert [one.raw_response for one in calls()] == [answer(), None]


def test_filters_choose_and_the_newest_come_first(ada, endpoint):
    decided(6)
    replay(ada, filters={"decision": "NO_WRITE"}, limit=2)
    assert [row.decision_id for row in rows()] == ["d4", "d2"]
    assert orjson.loads(replays().get().filters_json) == {"filters": {"decision": "NO_WRITE"}, "limit": 2}


def test_a_search_for_words_chooses_too(ada, endpoint):
    decided(3, reason="Nothing new.")
    with pytest.raises(Refused, match="None of these decisions"):
        replay(ada, filters={"q": "elephant"})
    replay(ada, filters={"q": "nothing"})
    assert rows().count() == 3


def test_decisions_without_a_window_are_skipped_and_counted(ada, endpoint):
    first, *_others = decided(3)
    lose_window(first)
    found, _job = replay(ada)
    assert (found.total, found.skipped, len(endpoint.requests)) == (2, 1, 2)


def test_an_answer_that_is_no_decision_is_none(ada, endpoint):
    decided(2)
    endpoint.then(says("I would say: nothing."), decides())
    found, job = replay(ada)
    assert job.message == "1 decision replayed. 1 is different. 1 answer was no decision."
    assert [(row.outcome, row.decision) for row in rows()] == [("malformed", None), ("decided", "UPDATE_USER")]
    assert found.state == "finished"
    assert results.read_result(DB, found).outcomes["malformed"] == 1


def test_what_was_not_answered_waits_and_is_asked_again(ada, endpoint):
    decided(3)
    endpoint.then(decides(), *[fails(500)] * 6, decides())
    found, job = replay(ada)
    assert job.message.startswith("1 decision replayed. 1 is different. 2 decisions were not replayed.")
    assert (found.state, [row.outcome for row in rows()]) == ("stopped", ["decided", "waiting", "waiting"])
    job = jobs.run_now("gate_replay", {"agent": "ada", "replay": found.id}, by="root")
    assert (job.done, job.total, job.message) == (3, 3, "3 decisions replayed. 2 are different.")
    found.refresh_from_db()
    assert (found.state, found.decided) == ("finished", 3)
    with pytest.raises(Refused, match="This replay has replayed"):
        replay_launch.continue_replay(ada, found, by="root")


def test_the_limit_of_the_day_ends_it_and_is_shared_with_the_gate(ada, endpoint):
    decided(3)
    configuration.put("memoryGate.tokensPerDay", 4_500)
    endpoint.then(says(answer(), prompt_tokens=1_500, completion_tokens=500))
    found, job = replay(ada)
    assert "The limit of 4,500 tokens a day is reached" in job.message
    assert (found.state, found.decided) == ("stopped", 1)


def test_the_model_in_force_is_not_needed(ada, endpoint):
    decided(1)
    configuration.put("llm.model", "")
    assert replay(ada)[1].state == "finished"
    with pytest.raises(Refused, match="Name the model"):
        replay(ada, model="")


def test_a_decision_that_went_meanwhile_is_lost(ada, endpoint):
    decided(2)
    found, job = replay_launch.start_replay(ada, ReplayRequest(model="other"), by="otto")
    MemoryGateDecision.objects.using(DB).filter(id="d1").delete()
    jobs.run_now(job.kind, orjson.loads(job.params_json), by="otto")
    assert [row.outcome for row in rows()] == ["lost", "decided"]
    found.refresh_from_db()
    assert found.state == "finished"


def test_a_replay_that_there_is_not_is_refused(ada, endpoint):
    assert jobs.run_now("gate_replay", {"agent": "ada", "replay": "x"}, by="root").state == "refused"


def test_one_that_was_cancelled_has_stopped(ada, endpoint):
    decided(2)
    found, job = replay_launch.start_replay(ada, ReplayRequest(model="other"), by="otto")
    jobs.cancel(job, by="otto")
    found.refresh_from_db()
    assert found.state == "stopped"
    job = replay_launch.continue_replay(ada, found, by="otto")
    found.refresh_from_db()
    assert (found.state, found.job_id) == ("running", job.id)
