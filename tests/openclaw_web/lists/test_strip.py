"""Bars above a list: their numbers, their links, and what happens when counting takes too long."""

import re
import time
from html import unescape

import pytest

from openclaw_web.lists import strip
from openclaw_web.sqlite import time_limits
from tests.factories import T0, TurnFactory
from tests.faults import before_statement

pytestmark = pytest.mark.django_db
DAY_MS, HOUR_MS = 86_400_000, 3_600_000
PAGE = "/agents/ada/turns/"
BAR = re.compile(r'<a class="chart__point" href="([^"]+)" aria-label="([^"]+)"')
STEPS = [0, 1, 1, 2, 30, 70]  # days after T0, 5 Jan 2026


@pytest.fixture
def turns(ada):
    return [TurnFactory(turn_number=n, created_at=T0 + day * DAY_MS) for n, day in enumerate(STEPS, 1)]


def bars(page):
    return {words: unescape(href) for href, words in BAR.findall(page.text)}


def test_a_bar_counts_a_day_and_leads_to_its_rows(as_admin, turns):
    links = bars(as_admin.get(PAGE, {"to": "2026-02-10", "sort": "time"}))
    assert list(links) == ["5 Jan 2026 · Rows 1", "6 Jan 2026 · Rows 2", "7 Jan 2026 · Rows 1", "4 Feb 2026 · Rows 1"]
    assert links["6 Jan 2026 · Rows 2"] == "?to=2026-01-06&sort=time&from=2026-01-06"
    assert len(as_admin.get(PAGE + links["6 Jan 2026 · Rows 2"]).context["page"]) == 2


def test_bars_go_back_from_the_newest_row(as_admin, turns):
    page = as_admin.get(PAGE)
    assert list(bars(page)) == ["4 Feb 2026 · Rows 1", "16 Mar 2026 · Rows 1"]
    table = re.findall(r'<th scope="row">([^<]+)</th><td>(\d+)</td>', page.text)
    assert table == [("4 Feb 2026", "1"), ("16 Mar 2026", "1")]  # days without a row are left out
    assert "16 Jan 2026" not in page.text  # the bars begin with the first row


def test_two_days_are_shown_by_hour(as_admin, turns):
    TurnFactory(turn_number=9, created_at=T0 + DAY_MS + 5 * HOUR_MS)
    links = bars(as_admin.get(PAGE, {"from": "2026-01-05", "to": "2026-01-06"}))
    hour = f"{T0 % DAY_MS // HOUR_MS + 5:02}"
    assert len(links) == 3 and f"6 Jan 2026 {hour}:00 UTC · Rows 1" in links
    address = links[f"6 Jan 2026 {hour}:00 UTC · Rows 1"]
    assert address == f"?from=2026-01-06T{hour}%3A00&to=2026-01-06T{hour}%3A59"
    assert len(as_admin.get(PAGE + address).context["page"]) == 1


def test_counts_of_listings_are_added_up(ada, turns):
    from ledger.lists.turn_list import TURNS, TurnFilters

    counts = strip.count_by_time(TURNS.fits(ada), strip.get_moment(TurnFilters), DAY_MS, 1_000)
    assert sum(counts.values()) == 2 and all(day % DAY_MS == 0 for day in counts)
    filters = TurnFilters({}).validate()
    assert strip.draw_strip({day: 2 * count for day, count in counts.items()}, filters, DAY_MS).chart.totals == [4]
    assert strip.draw_strip({}, filters, DAY_MS) is None


def test_what_takes_too_long_is_asked_for_alone(as_admin, turns, monkeypatch):
    monkeypatch.setattr(time_limits, "STEPS", 1)

    def get(seconds, **request):
        with before_statement("agent_ada", lambda sql: "GROUP BY" in sql, lambda: time.sleep(seconds)):
            return as_admin.get(PAGE, **request)

    page = get(0.05)
    (href,) = set(re.findall(r'<a class="strip small" href="([^"]+)" hx-get="\1" hx-trigger="load"', page.text))
    assert href == "?strip=1" and not bars(page) and len(page.context["page"]) == 6
    part = get(0.05, data={"strip": "1"}, headers={"HX-Request": "true"})
    assert len(bars(part)) == 2 and "<table class" not in part.text and "HX-Push-Url" not in part
    assert len(bars(get(0.05, data={"strip": "1"}))) == 2
    late = get(1.1, data={"strip": "1"}, headers={"HX-Request": "true"})
    assert (late.status_code, late.text.strip()) == (200, "")


def test_lists_without_days_have_no_bars(as_admin):
    assert as_admin.get("/operations/skipped/").context["strip"] is None
