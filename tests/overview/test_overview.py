import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from django.urls import reverse

from openclaw_web import clock
from overview.activity import Period
from overview.models import AgentDailyStat, AgentSummary
from tests.factories import T0

pytestmark = pytest.mark.django_db

TODAY = date(2026, 2, 21)
NOW = int(datetime(2026, 2, 21, 12, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    """It is 21 February 2026, noon."""
    monkeypatch.setattr(clock, "now_ms", lambda: NOW)


def summary(agent_id="ada", **values):
    return AgentSummary.objects.create(agent_id=agent_id, **{"last_activity_at": NOW, **values})


def worked(day=TODAY, agent_id="ada", **values):
    return AgentDailyStat.objects.create(agent_id=agent_id, date=str(day), **{"turn_count": 1, **values})


def page(client, query=""):
    response = client.get(reverse("overview:overview") + query)
    assert response.status_code == 200
    return response.content.decode()


def tile(text, label):
    """The number under a tile's label."""
    dd = re.search(rf"<dt>{label}</dt>\s*<dd>(.*?)</dd>", text, re.DOTALL)[1]
    return " ".join(re.sub("<[^>]+>", " ", dd).split())


def bars(text):
    """What each bar of the chart says."""
    return re.findall(r'aria-label="([^"]*·[^"]*)"', text.partition('<svg class="chart__svg"')[2])


def test_it_works(as_admin):
    summary("ada", session_count=3, turn_count=40, error_count=2, total_tokens=4200, cost_usd=1.5, rejected_count=1,
            last_collected_at=T0)  # fmt: skip
    summary("bob", session_count=1, turn_count=2, total_tokens=800, cost_usd=0.25)
    worked(turn_count=40, error_count=2)
    worked(TODAY, "bob", turn_count=2)
    text = page(as_admin)
    tiles = {"Agents": "2", "Sessions": "4", "Turns": "42", "Tokens": "5.0k", "Cost": "$1.75", "Errors": "2"}
    assert {label: tile(text, label) for label in tiles} == tiles
    assert tile(text, "Rejected records") == "1"
    assert bars(text)[-1] == "21 Feb 2026 · Turns 42 · Errors 2"
    assert reverse("ledger:session_list", args=["bob"]) in text


def test_turns_that_only_days_still_have_are_named_at_the_tile(as_admin):
    summary("ada", turn_count=40)
    worked(turn_count=40)
    assert tile(page(as_admin), "Turns") == "40"
    worked(TODAY - timedelta(days=30), turn_count=1200)
    assert tile(page(as_admin), "Turns") == "40 1,200 more in removed sessions"


def test_a_stranger_must_sign_in(client):
    response = client.get("/")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("people:sign_in"))


def test_only_operators_see_the_button_that_collects(client, each_role):
    client.force_login(each_role, backend="django.contrib.auth.backends.ModelBackend")
    summary()
    shown = reverse("collecting:collect_start") in page(client)
    assert shown == (each_role.role in ("operator", "admin"))


def test_the_rail_shows_what_a_role_may_open(client, each_role):
    client.force_login(each_role, backend="django.contrib.auth.backends.ModelBackend")
    text = page(client)
    assert (reverse("datasets:review") in text) == (each_role.role != "viewer")
    may = each_role.role in ("operator", "admin")
    assert f'<a href="{reverse("operations:system" if may else "jobs:job_list")}" title="System">' in text


def test_without_agents_the_page_says_how_to_get_one(as_admin):
    text = page(as_admin)
    assert "No agents imported yet" in text
    assert "openclaw-web collect --source DIR" in text


@pytest.mark.parametrize(("query", "count"), [("", 35), ("?days=7", 7), ("?days=90", 90), ("?days=rubbish", 35)])
def test_the_range_says_how_many_days_there_are(as_admin, query, count):
    summary()
    worked()
    assert len(bars(page(as_admin, query))) == count


def test_all_days_begin_with_the_first(as_admin):
    summary()
    worked()
    worked(TODAY - timedelta(days=59), turn_count=5)
    said = bars(page(as_admin, "?days=all"))
    assert (len(said), said[0]) == (60, "24 Dec 2025 · Turns 5 · Errors 0")


def test_many_days_are_shown_by_the_week(as_admin):
    summary()
    worked(turn_count=2)
    worked(TODAY - timedelta(days=6), turn_count=3)
    worked(TODAY - timedelta(days=300), turn_count=7)
    said = bars(page(as_admin, "?days=all"))
    assert len(said) == 43
    assert said[-1] == "15 Feb – 21 Feb 2026 · Turns 5 · Errors 0"
    assert said[0].endswith("Turns 7 · Errors 0")


def test_a_record_from_1970_does_not_make_a_thousand_bars(as_admin):
    summary()
    worked()
    worked(date(1970, 1, 1))
    assert len(bars(page(as_admin, "?days=all"))) <= 100


def test_an_old_home_shows_its_latest_days(as_admin):
    summary()
    worked(date(2025, 6, 30), turn_count=9)
    text = page(as_admin)
    assert "Turns and errors, 27 May – 30 Jun 2025" in text
    assert bars(text)[-1] == "30 Jun 2025 · Turns 9 · Errors 0"


def test_a_day_to_come_is_left_out(as_admin):
    summary()
    worked(turn_count=9)
    worked(date(2099, 1, 1))
    assert bars(page(as_admin))[-1] == "21 Feb 2026 · Turns 9 · Errors 0"


def test_agents_without_a_day_have_one_line_instead_of_a_chart(as_admin):
    summary()
    text = page(as_admin)
    assert "No activity in this period." in text
    assert "chart__svg" not in text


def test_a_bar_leads_to_the_agents_of_its_day(as_admin):
    summary()
    summary("bob")
    worked(turn_count=12)
    worked(TODAY - timedelta(days=1), "bob")
    address = re.findall(r'class="chart__point" href="([^"]+)"', page(as_admin))[-1].replace("&amp;", "&")
    text = as_admin.get(address).content.decode()
    assert "Agents active on 21 Feb 2026" in text and "1 agent" in text
    assert "/agents/ada/turns/?from=2026-02-21&amp;to=2026-02-21" in text
    assert "bob" not in text


def test_a_bar_of_the_only_agent_leads_to_its_turns(as_admin):
    summary()
    worked(turn_count=12)
    address = re.findall(r'class="chart__point" href="([^"]+)"', page(as_admin))[-1].replace("&amp;", "&")
    assert address == "/agents/ada/turns/?from=2026-02-21&to=2026-02-21"


@pytest.mark.parametrize("path", ["/", "/?days=all"])
def test_the_number_of_queries_does_not_grow(as_admin, path, django_assert_max_num_queries):
    for rows in (1, 30):
        for i in range(rows):
            summary(f"agent-{rows}-{i}")
            worked(TODAY - timedelta(days=i), f"agent-{rows}-{i}")
        # session, user; sums, turns of all days, first and last day, days; agents and what their files have to hold;
        # databases of a newer OpenClaw; sessions that were left out
        with django_assert_max_num_queries(9):
            as_admin.get(path)


def test_twenty_agents_are_shown_and_the_rest_is_a_click_away(as_admin):
    for i in range(21):
        summary(f"agent-{i:02}")
    text = page(as_admin)
    assert text.count('<th scope="row"><a') == 20
    assert "All 21 agents" in text


def test_healthz_answers_anybody(client):
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")


def test_parts_of_a_period_meet():
    parts = list(Period(date(2026, 1, 1), date(2026, 1, 17)).parts(7))
    assert [part.days for part in parts] == [3, 7, 7]
    assert all(left.end + timedelta(days=1) == right.start for left, right in pairwise(parts))
    assert (parts[0].start, parts[-1].end) == (date(2026, 1, 1), date(2026, 1, 17))
