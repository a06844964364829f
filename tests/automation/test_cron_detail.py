"""The page of a scheduled job: its definition and its runs."""

import re

import orjson
import pytest

from tests.factories import T0, CronJobFactory, CronRunFactory, SessionFactory

URL = "/agents/ada/cron/j/"
API = "/api/v1/agents/ada/cron/j"
DEFINITION = {
    "description": "for the kitchen",
    "sessionTarget": "isolated",
    "wakeMode": "now",
    "payload": {"kind": "agentTurn", "model": "fakeai/mini", "timeoutSeconds": 60},
    "delivery": {"mode": "announce", "channel": "telegram", "to": "42"},
}
pytestmark = pytest.mark.django_db


@pytest.fixture
def job(ada):
    return CronJobFactory(id="j", job_json=orjson.dumps(DEFINITION).decode())


def test_it_works(client, job):
    SessionFactory(id="known")
    CronRunFactory(job_id="j", session_id="known", summary="3 commits", ts=T0)
    CronRunFactory(job_id="j", session_id="pruned", status="error", error="400 upstream", duration_ms=20_000)
    page = client.get(URL).text
    for words in (
        *("Morning brief", "Every day at 07:00 (Asia/Shanghai)", "0 7 * * *", "Summarise the night."),
        *("for the kitchen", "A session of its own", "fakeai/mini", "60 s", "Announced in a chat · Telegram · 42"),
        *("3 commits", "400 upstream", "20.0 s", "50%", "Duration of the latest runs, in seconds"),
    ):
        assert words in page, words
    assert '<a href="/agents/ada/sessions/known/"' in page
    assert "sessions/pruned" not in page
    assert re.search(r'class="chart__point" href="/agents/ada/sessions/known/"', page)


def test_jobs_of_others_and_of_nobody_are_not_found(client, job):
    CronRunFactory(job_id="bobs", agent_id="bob")
    for at in ("bob/cron/j", "ada/cron/bobs", "ada/cron/nothing%00"):
        assert client.get(f"/agents/{at}/").status_code == 404, at
    assert client.get("/api/v1/agents/bob/cron/j").status_code == 404
    assert client.get("/api/v1/agents/ada/cron/bobs/runs").status_code == 404


def test_a_job_that_never_ran_says_so(client, job):
    page = client.get(URL).text
    assert "It has not run yet." in page and "chart__svg" not in page


def test_runs_of_a_job_that_is_gone_are_still_read(client):
    CronRunFactory(job_id="j", summary="still here")
    page = client.get(URL).text
    assert "still here" in page and "no longer in the OpenClaw folder" in page
    assert client.get(f"{API}/runs").json()["items"][0]["summary"] == "still here"
    assert client.get(API).status_code == 404


def test_what_a_run_says_is_shown_and_does_nothing(client):
    hostile = "<script>alert(1)</script>\u202e\x1b[2J"
    CronJobFactory(id="j", name=hostile, prompt=hostile, job_json=orjson.dumps({"description": hostile}).decode())
    CronRunFactory(job_id="j", status=hostile, error=hostile, summary=f"{hostile} more", session_id=hostile)
    page = client.get(URL).text
    assert not [odd for odd in ("<script>alert", "\u202e", "\x1b") if odd in page]
    assert "unknown" not in page.replace("Skipped or unknown", "").lower()  # the chart's legend has this name


@pytest.mark.parametrize("definition", ["[]", "null", '{"payload":[],"delivery":7}', '{"description":{"a":1}}'])
def test_a_strange_definition_stops_nothing(client, definition):
    CronJobFactory(id="j", job_json=definition, schedule_json="null", prompt="")
    for at, ms, status in ((10**17, 10**12, "ok"), (0, 0, "ok"), (-(10**17), None, "")):  # absurd numbers, too
        CronRunFactory(job_id="j", ts=at, duration_ms=ms, status=status)
    assert [client.get(at).status_code for at in (URL, API, "/api/v1/agents/ada/cron")] == [200] * 3


def test_long_summaries_are_folded_and_cut(client, job):
    CronRunFactory(job_id="j", summary="word " * 1_000_000)
    page = client.get(URL)
    assert len(page.content) < 200_000
    assert "characters" in page.text


def test_pages_follow_each_other_without_loss_or_doubles(client, job):
    CronRunFactory.create_batch(40, job_id="j", ts=T0)
    CronRunFactory.create_batch(40, job_id="j")
    runs, query = [], {}
    while query.get("after", "") is not None:
        page = client.get(URL, query).context["runs"]
        runs += [(run.ts, run.seq) for run in page]
        query = {"after": page.next}
    assert len(runs) == 80 and runs == sorted(runs, reverse=True)
    assert [(run.ts, run.seq) for run in client.get(URL, {"before": page.previous}).context["runs"]] == runs[:50]
    assert client.get(URL, {"after": "nonsense"}).status_code == 409


def test_the_api_says_the_same(client, job):
    CronRunFactory(job_id="j", status="error", error="400", session_id="s", ts=T0)
    detail = client.get(API).json()
    assert (detail["prompt"], detail["definition"]["wakeMode"]) == ("Summarise the night.", "now")
    run = client.get(f"{API}/runs").json()["items"][0]
    assert (run["ts"], run["outcome"], run["error"], run["session_id"]) == (T0, "failed", "400", "s")
    assert client.get(f"{API}/runs", {"after": "x"}).status_code == 409
