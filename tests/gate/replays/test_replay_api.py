"""Replays in the API: plans, the start of one, the list, and results."""

import orjson
import pytest

from jobs import services as jobs
from jobs.models import JobRun
from people.configuration import setting_values as configuration

from .replay_rows import create_decisions, lose_window, replays, rows, run_replay

pytestmark = pytest.mark.django_db
API = "/api/v1/agents/ada/gate/replays"


def post(client, body, address=API):
    return client.post(address, body, content_type="application/json")


def test_a_dry_run_tells_and_sends_nothing(ada, endpoint, as_operator):
    first, *_others = create_decisions(4)
    lose_window(first)
    plan = post(as_operator, {"model": "other", "dry_run": True, "filters": {"decision": "NO_WRITE"}})
    assert plan.status_code == 200
    answer = plan.json()
    assert (answer["decisions"], answer["skipped"], answer["model"], answer["problem"]) == (1, 1, "other", "")
    assert answer["host"] == endpoint.url.split("/")[2]
    assert not endpoint.requests
    assert not replays().exists()


def test_a_replay_is_started_followed_and_read(ada, endpoint, as_operator):
    decisions = create_decisions(4)
    since = decisions[1].created_at
    body = {"model": "other", "prompt": "Decide.", "limit": 2, "filters": {"from_ts": since}}
    started = post(as_operator, body)
    assert started.status_code == 202
    name, job = started.json()["replay_id"], started.json()["job"]
    listed = as_operator.get(API).json()["items"]
    assert [(item["id"], item["state"], item["total"]) for item in listed] == [(name, "queued", 2)]
    jobs.run_now("gate_replay", orjson.loads(JobRun.objects.get(id=job["id"]).params_json), by="otto")
    answer = as_operator.get(f"{API}/{name}").json()
    assert (answer["state"], answer["decided"], answer["agreed"], answer["agreement"]) == ("finished", 2, 1, 0.5)
    assert answer["chosen"] == {"filters": {"since": since}, "limit": 2}
    assert answer["matrix"] == [
        {"original": "NO_WRITE", "replay": "UPDATE_USER", "count": 1},
        {"original": "UPDATE_USER", "replay": "UPDATE_USER", "count": 1},
    ]
    assert [(item["decision_id"], item["decision"]) for item in answer["items"]] == [("d2", "UPDATE_USER")]
    assert (answer["calls"], answer["outcomes"]["decided"], answer["next"]) == (2, 2, None)


def test_named_decisions(ada, endpoint, as_operator):
    create_decisions(3)
    assert post(as_operator, {"model": "other", "decision_ids": ["d1"]}).status_code == 202
    assert [row.decision_id for row in rows()] == ["d1"]


def test_one_goes_on(ada, endpoint, as_operator):
    create_decisions(1)
    replay_row, _job = run_replay(ada)
    refused = post(as_operator, {}, f"{API}/{replay_row.id}/continue")
    assert (refused.status_code, "has replayed all" in refused.json()["detail"]) == (409, True)
    rows().update(outcome="waiting", decision=None, is_same=None)
    assert post(as_operator, {}, f"{API}/{replay_row.id}/continue").status_code == 202
    assert post(as_operator, {}, f"{API}/nothing/continue").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"model": ""}, 422),
        ({"model": "other", "limit": 5_001}, 422),
        ({"model": "other", "prompt": "x" * 20_001}, 422),
        ({"model": "other", "filters": {"decision": "PERHAPS"}}, 422),
        ({"model": "other", "filters": {"nothing": 1}}, 422),
        ({"model": "other", "filters": {"slow": "true"}}, 422),
        ({"model": "other", "filters": {"verdict": "judged"}}, 409),  # none is
        ({"model": "other", "filters": {"decision": "UPDATE_SOUL"}}, 409),
    ],
)
def test_what_cannot_be_meant(ada, endpoint, as_operator, body, status):
    create_decisions(1)
    assert post(as_operator, body).status_code == status
    assert not replays().exists()


def test_differences_have_pages(ada, endpoint, as_operator):
    create_decisions(5, names=("NO_WRITE",))
    configuration.put("memoryGate.tokensPerDay", 0)
    replay_row, _job = run_replay(ada)
    first = as_operator.get(f"{API}/{replay_row.id}?limit=3").json()
    second = as_operator.get(f"{API}/{replay_row.id}?limit=3&after={first['next']}").json()
    names = [item["decision_id"] for item in (*first["items"], *second["items"])]
    assert names == ["d4", "d3", "d2", "d1", "d0"]
