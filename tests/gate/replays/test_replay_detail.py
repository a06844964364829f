"""The page of one replay: its result, and continuing it."""

import pytest

from jobs.models import JobRun
from tests.gate.runner.judged_turns import decides
from tests.llm_endpoint import fails, says

from .replay_rows import LIST, calls, create_decisions, run_replay, text_of

pytestmark = pytest.mark.django_db


def test_a_page_tells_what_came_of_it(ada, endpoint, as_stranger):
    create_decisions(4)
    endpoint.then(decides(reason="Loves <tea>.", fact="Tea & more."), decides(), decides(), says("none"))
    replay_row, _job = run_replay(ada, filters={"q": "talk"})
    page = text_of(as_stranger.get(f"{LIST}{replay_row.id}/"))
    assert "<dt>Agreement</dt> <dd> 67%" in page
    assert "<dt>Malformed answers</dt><dd>1</dd>" in page
    assert "Reason or fact: talk" in page
    assert 'href="/agents/ada/gate/d2/"' in page
    assert 'href="/agents/ada/gate/d1/"' not in page
    assert "Likes tea." in page
    assert "Continue" not in page
    listed = text_of(as_stranger.get(LIST))
    assert f'href="{LIST}{replay_row.id}/"' in listed
    assert "3 of 4" in listed
    assert "67%" in listed


def test_a_replay_that_stopped_can_be_continued(ada, endpoint, as_operator, as_stranger):
    create_decisions(2)
    endpoint.then(fails(401))
    replay_row, _job = run_replay(ada)
    address = f"{LIST}{replay_row.id}/"
    assert "2 decisions were not replayed." in text_of(as_stranger.get(address))
    assert "Continue" not in text_of(as_stranger.get(address))
    assert "Continue" in text_of(as_operator.get(address))
    as_operator.post(f"{address}continue/")
    replay_row.refresh_from_db()
    assert (replay_row.state, JobRun.objects.get(id=replay_row.job_id).state) == ("running", "queued")
    refused = as_operator.post(f"{address}continue/", follow=True)
    assert "Wait until it has ended" in text_of(refused)


def test_a_replay_that_there_is_not(ada, as_stranger):
    missing = as_stranger.get(f"{LIST}nothing/")
    assert (missing.status_code, "There is no replay nothing." in text_of(missing)) == (404, True)


def test_its_calls_are_marked_and_lead_to_it(ada, endpoint, as_stranger):
    create_decisions(1)
    replay_row, _job = run_replay(ada)
    page = text_of(as_stranger.get("/agents/ada/gate/calls/?segment=decided"))
    assert "Replay</span>" in page
    decision = text_of(as_stranger.get("/agents/ada/gate/d0/"))
    assert "Calls for this decision" not in decision
    call = calls().get()
    assert f'href="{LIST}{replay_row.id}/"' in text_of(as_stranger.get(f"/agents/ada/gate/calls/{call.id}/"))
