"""Budgets: problems at 80 % and at 100 %, from the sums of days."""

import pytest

from openclaw_web import clock
from overview.models import AgentDailyStat
from tests.people.settings_page import save
from tests.problems.check_results import check

NOW = 1_771_848_000_000  # 2026-02-23T12:00:00Z
PAGE = "/operations/"
MONTH = "All agents: 101% of the budget of this month (UTC) is used, $35.50 of $35.00."
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def site(monkeypatch, ada, bob):
    monkeypatch.setattr(clock, "now_ms", lambda: NOW)
    for agent_id, day, cost, tokens in (("ada", 23, 4.0, 900), ("ada", 2, 30.0, 100), ("bob", 23, 1.5, 50)):
        columns = {"session_count": 1, "turn_count": 1, "total_tokens": tokens, "cost_usd": cost}
        AgentDailyStat.objects.create(agent_id=agent_id, date=f"2026-02-{day:02}", **columns)
    AgentDailyStat.objects.create(agent_id="ada", date="2026-01-31", cost_usd=1_000, total_tokens=10**9)


def budgets(client, *lines):
    save(client, "budget.limits", "\n".join(lines))
    return [sentence for sentence in check() if "budget" in sentence]


def test_it_works(as_admin):
    assert budgets(as_admin) == []
    assert budgets(as_admin, "ada: 5 USD per day") == [
        "ada: 80% of the budget of this day (UTC) is used, $4.00 of $5.00."
    ]
    page = as_admin.get(PAGE).text
    assert 'href="/agents/?from=2026-02-23&amp;to=2026-02-23"' in page and "needs__row--warn" in page
    assert budgets(as_admin, "ada: 4 USD per day")[0].startswith("ada: 100% of the budget of this day")
    assert "needs__row--bad" in as_admin.get(PAGE).text


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ada: 5.1 USD per day", None),
        ("bob: 5 USD per day", None),
        ("all agents: 6 USD per day", "All agents: 91% of the budget of this day (UTC) is used, $5.50 of $6.00."),
        (
            "all agents: 35 USD per month",
            MONTH,
        ),
        ("ada: 1000 tokens per month", "ada: 100% of the budget of this month (UTC) is used, 1.0k of 1.0k."),
        ("ada: 1000 tokens per day", "ada: 90% of the budget of this day (UTC) is used, 900 of 1.0k."),
    ],
)
def test_what_counts(as_admin, line, sentence):
    assert budgets(as_admin, line) == ([sentence] if sentence else [])


def test_it_opens_again_at_the_limit_and_closes_with_the_day(as_admin, monkeypatch):
    budgets(as_admin, "ada: 5 USD per day")
    row_id = as_admin.get("/api/v1/problems", {"kind": "budget"}).json()["items"][0]["id"]
    as_admin.post(f"/operations/problems/{row_id}/mute/", {"reason": "known"})
    assert budgets(as_admin, "ada: 5 USD per day") == []
    AgentDailyStat.objects.filter(date="2026-02-23", agent_id="ada").update(cost_usd=6.0)
    assert len(budgets(as_admin, "ada: 5 USD per day")) == 1
    monkeypatch.setattr(clock, "now_ms", lambda: NOW + 86_400_000)
    assert budgets(as_admin, "ada: 5 USD per day") == []
