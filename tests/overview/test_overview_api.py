"""The API of jobs and of sums over all agents."""

import orjson
import pytest

from jobs.models import JobRun
from overview.models import AgentDailyStat, AgentSummary
from tests.factories import JobFactory

API = "/api/v1"
pytestmark = pytest.mark.django_db


def test_collecting_queues_one_job(as_admin, settings):
    response = as_admin.post(f"{API}/operations/collect", {}, "application/json")
    assert response.status_code == 202
    job = response.json()
    assert (job["kind"], job["state"], job["started_by"]) == ("collect", "queued", "root")
    assert as_admin.generic("POST", f"{API}/operations/collect").json()["id"] == job["id"]
    as_admin.post("/operations/collect/")
    assert orjson.loads(JobRun.objects.get().params_json) == {"source": str(settings.STATE_DIR)}


def test_what_a_job_was_asked_and_what_came_out(as_admin):
    JobFactory(id="j", params_json='{"include_deleted":true}', result_json='{"records":3}', log="x" * 60_000 + "end")
    job = as_admin.get(f"{API}/operations/jobs/j").json()
    assert (job["params"], job["result"]) == ({"include_deleted": True}, {"records": 3})
    assert job["log"].endswith("end") and len(job["log"]) == 50_000


def test_sums_of_all_agents(as_stranger):
    AgentSummary.objects.create(agent_id="ada", turn_count=2, last_collected_at=5)
    AgentSummary.objects.create(agent_id="bob", turn_count=3)
    for agent_id, date in (("ada", "2026-01-05"), ("bob", "2026-01-05"), ("ada", "2026-01-06"), ("ada", "2026-01-04")):
        AgentDailyStat.objects.create(agent_id=agent_id, date=date, turn_count=2)
    answer = as_stranger.get(f"{API}/overview", {"days": 2}).json()
    assert (answer["totals"]["agent_count"], answer["totals"]["turn_count"]) == (2, 5)
    assert [(day["date"], day["turn_count"]) for day in answer["days"]] == [("2026-01-05", 4), ("2026-01-06", 2)]
    items = as_stranger.get(f"{API}/overview/agents").json()["items"]
    assert [item["agent_id"] for item in items] == ["ada", "bob"]


def test_sums_of_nothing(as_stranger):
    answer = as_stranger.get(f"{API}/overview").json()
    assert (answer["totals"]["turn_count"], answer["days"]) == (0, [])
