import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.urls import reverse

from openclaw_web import clock
from openclaw_web.disk import locks
from overview import site_sums
from overview.models import AgentDailyStat, AgentHour, AgentSummary, SiteSpan
from tests.factories import T0, AgentFactory, JobFactory

pytestmark = pytest.mark.django_db

TODAY = date(2026, 2, 21)
NOW = int(datetime(2026, 2, 21, 12, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    """It is 21 February 2026, noon."""
    monkeypatch.setattr(clock, "now_ms", lambda: NOW)


def create_summary(agent_id="ada", **values):
    return AgentSummary.objects.create(agent_id=agent_id, **{"last_activity_at": NOW, **values})


def create_day(day=TODAY, agent_id="ada", **values):
    return AgentDailyStat.objects.create(agent_id=agent_id, date=str(day), **{"turn_count": 1, **values})


def read_page(client, query=""):
    site_sums.rebuild()
    response = client.get(reverse("overview:overview") + query)
    assert response.status_code == 200
    return response.content.decode()


def read_tile(text, label):
    """Return the number under a tile's label."""
    dd = re.search(rf"<dt>{label}</dt>\s*<dd>(.*?)</dd>", text, re.DOTALL)[1]
    return " ".join(re.sub("<[^>]+>", " ", dd).split())


def read_bars(text):
    """Return the label of each bar of the chart."""
    return re.findall(r'aria-label="([^"]*·[^"]*)"', text.partition('<svg class="chart__svg"')[2])


def test_it_works(as_admin):
    create_summary("ada", session_count=3, turn_count=40, last_collected_at=T0)
    create_summary("bob", session_count=1, turn_count=2)
    models = '{"fable": [1.5, 0], "sol": [0.0, 900]}'
    create_day(turn_count=40, error_count=2, cost_usd=1.5, unpriced_tokens=900, latency_json='{"80": 39, "96": 1}',
           models_json=models)  # fmt: skip
    create_day(TODAY, "bob", turn_count=2, cost_usd=0.25)
    create_day(TODAY - timedelta(days=7), turn_count=84, error_count=1)
    text = read_page(as_admin)
    tiles = {
        "Turns": "42 50% less than in the 7 days before",
        "Errors": "2 100% more than in the 7 days before",
        "Cost": "$1.75 900 tokens without a price",
        "Answer time, p95": "1.1 s",
    }
    assert {label: read_tile(text, label) for label in tiles} == tiles
    assert read_bars(text)[6] == "21 Feb 2026 · Turns 42 · Errors 2"
    assert read_bars(text)[-1] == "21 Feb 2026 · fable $1.50 · Other models $0.25"
    assert reverse("ledger:session_list", args=["bob"]) in text


def test_turns_of_removed_sessions_are_named_beside_the_number_and_their_errors_left_out(as_admin):
    create_summary("ada", turn_count=40)
    create_day(turn_count=1240, removed_turn_count=1200, error_count=7, removed_error_count=7)
    assert read_tile(read_page(as_admin), "Turns") == "40 1,200 more in removed sessions"
    assert read_tile(read_page(as_admin), "Errors").startswith("0")
    AgentDailyStat.objects.update(error_count=0, removed_error_count=0)
    assert read_bars(read_page(as_admin))[6] == "21 Feb 2026 · Turns 1,240 · Errors 0"


def test_a_role_sees_what_it_may_open_and_start(client, each_role):
    client.force_login(each_role, backend="django.contrib.auth.backends.ModelBackend")
    create_summary()
    text, may = read_page(client), each_role.role in ("operator", "admin")
    assert (reverse("datasets:review") in text) == (each_role.role != "viewer")
    assert (reverse("collecting:collect_start") in text) == may
    assert f'<a href="{reverse("operations:system" if may else "collecting:import_summary")}" title="System">' in text


class TestNewSite:
    """The first page of a site without agents."""

    def test_without_openclaw_it_says_how_to_name_the_folder(self, as_admin, settings, tmp_path):
        settings.STATE_DIR = tmp_path / "nowhere"
        text = read_page(as_admin)
        assert "No agents imported yet" in text and f"There is no OpenClaw folder at {tmp_path}/nowhere." in text
        for command in ("OPENCLAW_STATE_DIR=DIR openclaw-web serve", "openclaw-web collect --source DIR"):
            assert f"<code>{command}</code>" in text
        assert "openclaw-web demo --port 8766" in text
        assert 'hx-trigger="every 5s"' in text

    def test_a_folder_that_waits_is_not_called_missing(self, as_admin, settings, tmp_path):
        settings.STATE_DIR = tmp_path
        text = read_page(as_admin)
        assert "Waiting for the first import" in text and "No agents imported yet" not in text
        assert 'hx-get="/" hx-trigger="every 2s"' in text

    def test_while_an_import_runs_it_says_how_far(self, as_admin, settings, tmp_path):
        settings.STATE_DIR = tmp_path
        (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)
        JobFactory(id="j", kind="collect", state="running", done=30, total=120)
        with locks.lock(locks.COLLECTING):
            text = read_page(as_admin)
            assert "Importing from" in text and "25%" in text and 'hx-trigger="every 2s"' in text
            assert "No agents imported yet" not in text and "Waiting for" not in text
            AgentFactory(created_at=NOW - 60_000)  # the first agent is there, and the import goes on
            create_summary()
            create_day()
            assert 'hx-trigger="every 2s"' in read_page(as_admin)
        assert "hx-trigger" not in read_page(as_admin).partition('id="main"')[2]

    def test_later_imports_refresh_nothing(self, as_admin, settings):
        (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)
        AgentFactory(created_at=NOW - 86_400_000)
        create_summary()
        with locks.lock(locks.COLLECTING):
            assert "Importing from" not in read_page(as_admin)


@pytest.mark.parametrize(
    ("query", "count"), [("", 7), ("?range=7d", 7), ("?range=35d", 35), ("?range=24h", 24), ("?range=rubbish", 7)]
)
def test_the_range_says_how_many_bars_there_are(as_admin, query, count):
    create_summary()
    create_day()
    AgentHour.objects.create(agent_id="ada", span="2026-02-21T09", turn_count=1)
    assert len(read_bars(read_page(as_admin, query))) == count


def test_24_hours_are_hours(as_admin):
    create_summary()
    create_day(turn_count=9)
    AgentHour.objects.create(agent_id="ada", span="2026-02-20T12", turn_count=3)  # not in the last 24 hours
    AgentHour.objects.create(agent_id="ada", span="2026-02-20T13", turn_count=2)
    AgentHour.objects.create(agent_id="ada", span="2026-02-21T12", turn_count=4, error_count=1)
    text = read_page(as_admin, "?range=24h")
    assert read_tile(text, "Turns") == "6 100% more than in the 24 h before"
    assert read_bars(text)[-1] == "21 Feb, 12:00 · Turns 4 · Errors 1"
    assert "from=2026-02-20T13:00&amp;to=2026-02-21T12:59" in text


def test_an_old_home_shows_its_latest_days(as_admin):
    create_summary()
    create_day(date(2025, 6, 30), turn_count=9)
    create_day(date(2099, 1, 1))
    text = read_page(as_admin)
    assert read_bars(text)[-1] == "30 Jun 2025 · Turns 9 · Errors 0"  # a wrong clock created a day in the future
    assert "Nothing happened since. Shown is the time up to the last activity: 24 Jun – 30 Jun 2025 (UTC)." in text


def test_any_number_of_days_adds_up():
    days = [str(date.fromordinal(number)) for number in range(1, 2_000)]
    for agent_id in ("ada", "bob"):
        AgentDailyStat.objects.bulk_create(AgentDailyStat(agent_id=agent_id, date=day, turn_count=1) for day in days)
    site_sums.refresh(days)
    site_sums.refresh(days)
    assert SiteSpan.objects.filter(turn_count=2).count() == len(days)


def test_a_day_to_come_is_left_out(as_admin):
    create_summary()
    create_day(turn_count=9)
    create_day(date(2099, 1, 1))
    assert read_bars(read_page(as_admin))[-1] == "21 Feb 2026 · Turns 9 · Errors 0"


def test_agents_without_a_day_have_one_line_instead_of_a_chart(as_admin):
    create_summary()
    text = read_page(as_admin)
    assert "No activity in this period." in text and "chart__svg" not in text


def test_a_bar_leads_to_the_turns_of_its_day_of_all_agents(as_admin):
    create_summary()
    create_summary("bob")
    create_day(turn_count=12)
    create_day(TODAY - timedelta(days=1), "bob")
    address = re.findall(r'class="chart__point" href="([^"]+)"', read_page(as_admin))[-1].replace("&amp;", "&")
    assert address == "/turns/?from=2026-02-21&to=2026-02-21"
    assert 'href="/events/?failed=on&amp;from=2026-02-15&amp;to=2026-02-21"' in read_page(as_admin)
    active = as_admin.get("/agents/?from=2026-02-21&to=2026-02-21").content.decode()
    assert "Agents active on 21 Feb 2026" in active and "1 agent" in active and "bob" not in active


def test_a_bar_of_the_only_agent_leads_to_its_turns(as_admin):
    create_summary()
    create_day(turn_count=12)
    address = re.findall(r'class="chart__point" href="([^"]+)"', read_page(as_admin))[-1].replace("&amp;", "&")
    assert address == "/agents/ada/turns/?from=2026-02-21&to=2026-02-21"
    assert 'href="/agents/ada/events/?failed=on&amp;from=2026-02-15&amp;to=2026-02-21"' in read_page(as_admin)


def test_the_number_of_queries_of_a_long_range_does_not_grow(as_admin, django_assert_max_num_queries):
    for rows in (1, 30):
        for i in range(rows):
            create_summary(f"agent-{rows}-{i}")
            create_day(TODAY - timedelta(days=i), f"agent-{rows}-{i}")
        site_sums.rebuild()
        # session, user; all agents; their sums and what their files have to hold; databases of a newer OpenClaw;
        # sessions that were left out; the last span and those of the range; newest writes and sessions; days, writes,
        # repeats, overdue tasks and homes of the agents that are shown
        with django_assert_max_num_queries(18):
            as_admin.get("/?range=35d")


def test_twenty_agents_are_shown_and_the_rest_is_a_click_away(as_admin):
    for i in range(21):
        create_summary(f"agent-{i:02}")
    text = read_page(as_admin)
    assert text.count('<th scope="row"><a') == 20 and "All 21 agents" in text


def test_healthz_answers_anybody(client):
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")
