"""Statistics in the API as JSON, and as the rows of a command."""

import pytest

from gate.recording import decision_store
from gate.statistics import figure_format
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from .statistics_rows import DB, day, make_failed_call, midnight, store_decisions

pytestmark = pytest.mark.django_db
API = "/api/v1/agents/ada/gate/statistics"


@pytest.fixture
def decided(ada):
    store_decisions("NO_WRITE", 3, 9, llm_latency_ms=50, prompt_tokens=90, completion_tokens=10, cost_usd=0.001)
    store_decisions("UPDATE_USER", 1, 9, session_id="s2", saw_user=False)
    store_decisions("UPDATE_SOUL", 2, 1, prompt_version="p2")
    decision_store.store_calls(DB, [make_failed_call(created_at=midnight(9), cost_usd=0.5)])


def test_it_works(as_stranger, decided):
    answer = as_stranger.get(f"{API}?by=day&from={day(10)}").json()
    assert (answer["state"], answer["by"], answer["first_day"], answer["last_day"]) == ("ready", "day", day(10), day(0))
    assert [row["key"] for row in answer["items"]] == [day(1), day(9)]
    older = answer["items"][1]
    assert (older["total"], older["decisions"]["NO_WRITE"], older["shares"]["NO_WRITE"]) == (4, 3, 0.75)
    assert (older["p50_ms"], older["latency_known"], older["prompt_tokens"], older["tokens_known"]) == (50, 3, 270, 3)
    assert (older["cost_usd"], older["cost_known"], older["failed"], older["unseen"]) == (0.503, 4, 1, 1)
    newest = answer["items"][0]
    assert newest["cost_usd"] is newest["p50_ms"] is newest["prompt_tokens"] is None
    assert answer["total"]["total"] == 6
    assert answer["prompt_changes"] == [{"day": day(1), "prompt": "p2", "before": "p1"}]


def test_pages(as_stranger, decided):
    first = as_stranger.get(f"{API}?by=day&limit=1").json()
    second = as_stranger.get(f"{API}?by=day&limit=1&after={first['next']}").json()
    assert [first["items"][0]["key"], second["items"][0]["key"]] == [day(1), day(9)]
    assert second["next"] is None
    assert as_stranger.get(f"{API}?by=day&limit=1&before={second['previous']}").json()["items"] == first["items"]
    sessions = as_stranger.get(f"{API}?by=session&limit=1").json()
    assert (sessions["items"][0]["key"], sessions["items"][0]["first_day"]) == ("s1", None)
    assert as_stranger.get(f"{API}?by=session&limit=1&after={sessions['next']}").json()["items"][0]["key"] == "s2"


def test_off(as_stranger, decided):
    configuration.put("memoryGateAuditing.enableStats", False)
    answer = as_stranger.get(API).json()
    assert (answer["state"], answer["items"], answer["total"]) == ("off", [], None)


@pytest.mark.parametrize(
    ("query", "status"),
    [("by=hour", 422), ("from=x", 422), ("limit=0", 422), ("by=day&session=s1", 409), ("to=0001-01-02", 200)],
)
def test_what_cannot_be_told(as_stranger, decided, query, status):
    assert as_stranger.get(f"{API}?{query}").status_code == status


def test_rows_of_the_command(decided):
    week_rows = figure_format.read_table(DB, by="week")
    assert sum(row["total"] for row in week_rows) == 6
    assert [row["key"] for row in figure_format.read_table(DB, by="session", limit=1)] == ["s1"]
    heads, newest, _older = figure_format.format_lines(figure_format.read_table(DB), by="day")
    assert heads.split()[:4] == ["Day", "Decisions", "NO_WRITE", "MEMORY"]
    assert heads.split()[-5:] == ["p50", "p95", "Tokens", "Cost", "Failures"]
    assert newest.split() == [day(1), "2", "0", "0", "0", "2", "(100%)", "0", "0", "–", "–", "–", "–", "0"]


def test_the_command_says_why_there_are_none(decided):
    configuration.put("memoryGateAuditing.enableStats", False)
    with pytest.raises(Refused, match="turned off"):
        figure_format.read_table(DB)
