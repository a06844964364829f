"""Writes by week, on their page and in the API."""

import re
from html import unescape

import pytest

from gate.statistics.figures import monday_of
from guardian.models import WriteGuardianAudit
from openclaw_web import clock
from tests.ledger.transcript_records import get_text

URL, API = "/agents/ada/writes/chart/", "/api/v1/agents/ada/guardian/chart"
WEEK_MS = 7 * 86_400_000
pytestmark = pytest.mark.django_db


def write(number, weeks_ago=0, **columns):
    fields = {"origin": "imported", "status": "written", "target_file": "MEMORY.md"} | columns
    at = clock.now_ms() - weeks_ago * WEEK_MS
    WriteGuardianAudit.objects.using("agent_ada").create(id=f"w{number}", created_at=at, **fields)


@pytest.fixture
def several(ada):
    """Writes of each kind in the last weeks."""
    write(1), write(2, 1), write(3, 1, status="rolled_back"), write(4, 1, status="refused", target_file="USER.md")
    write(5, 1, status="failed"), write(6, 1, status="skipped"), write(7, 1, origin="rollback")
    write(8, 1, origin="unattributed"), write(9, 20)


def test_weeks_are_counted_by_status(as_stranger, several):
    weeks = as_stranger.get(API).json()["weeks"]
    assert len(weeks) == 12 and weeks[-1]["written"] == 1
    assert weeks[-1]["first_day"] == str(monday_of(clock.day_of(clock.now_ms())))
    last = {name: count for name, count in weeks[-2].items() if not name.endswith("_day")}
    statuses = {"written": 2, "rolled_back": 1, "refused": 1, "failed": 1, "skipped": 1}
    assert last == {**statuses, "rollbacks": 1, "unattributed": 1}
    assert sum(week["written"] for week in as_stranger.get(f"{API}?weeks=26").json()["weeks"]) == 4
    user_weeks = as_stranger.get(f"{API}?file=USER.md").json()["weeks"]
    assert sum(week["refused"] for week in user_weeks) == 1 and not any(week["written"] for week in user_weeks)


def test_every_number_leads_to_its_rows(as_stranger, several):
    page = get_text(as_stranger.get(URL))
    table = page.rpartition("<tbody>")[2].partition("</tbody>")[0]
    links = re.findall(r'<td class="num"[^>]*><a href="([^"]+)">(\d+)</a>', table)
    assert len(links) == 8
    for address, count in links:
        answer = get_text(as_stranger.get(unescape(address)))
        assert answer.count('<td class="nowrap"><a href="/agents/ada/writes/w') == int(count), address
    bars = re.findall(r'class="chart__point" href="([^"]+)"', page)
    assert len(bars) == 2


def test_without_writes_it_says_so(as_stranger, ada):
    write(1, 20)
    assert "No writes in these weeks" in get_text(as_stranger.get(URL))
    assert "No writes in these weeks" not in get_text(as_stranger.get(f"{URL}?weeks=26"))
    assert as_stranger.get(f"{URL}?weeks=13&file=AGENTS.md").status_code == 200
    assert as_stranger.get(f"{API}?weeks=13").status_code == 422
