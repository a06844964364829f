"""Statistics of a scope: counts by type and day, latency of tools, drift."""

import pytest

from episodes import scope_statistics
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import time_limits
from tests.episodes.ledger_events import store_event
from tests.factories import T0
from tests.ledger.transcript_records import get_text

PAGE = "/agents/ada/episodes/statistics/?scope=global"
pytestmark = pytest.mark.django_db


def store_call(number, latency, *, key="toolCallId", at=T0, **values):
    refs = {key: f"call-{number}"} if key else None
    store_event(event_id=f"c{number}", type="tool.call", ts_ms=at, refs=refs, **values)
    store_event(event_id=f"r{number}", type="tool.result", ts_ms=at + latency, refs=refs, **values)


def read(as_stranger, query=""):
    return as_stranger.get(PAGE + query).context["statistics"]


def test_calls_are_paired_by_id_or_else_in_order(as_stranger, ada):
    store_call(1, 100)
    store_call(2, 300, key="tool_call_id")
    store_call(3, 500, key=None, session_id="s2", at=T0 + 10)
    store_call(4, 700, key=None, session_id="s3", at=T0 + 20)
    store_event(event_id="open", type="tool.call", refs={"toolCallId": "call-9"})
    store_call(5, 9_000, scope="other")
    latency = read(as_stranger).latency
    assert (latency.pairs, latency.median_ms, latency.p95_ms) == (4, 300, 700)
    assert "300 ms" in get_text(as_stranger.get(PAGE)) and "of 4 calls" in get_text(as_stranger.get(PAGE))


def test_events_are_counted_by_type_and_day(as_stranger, ada):
    for day in range(40):
        store_event(event_id=f"e{day}", ts_ms=T0 + day * DAY_MS)
    store_event(event_id="other", scope="beta", ts_ms=T0 + 39 * DAY_MS)
    (figures,) = read(as_stranger).types
    assert (figures.live, figures.in_range, figures.recent, figures.earlier) == (40, 35, 7, 28)
    assert not figures.is_changed
    earlier = read(as_stranger, "&to=2026-01-06")
    assert (earlier.types[0].in_range, earlier.types[0].live) == (2, 40)
    assert "from=2026-01-06&amp;to=2026-01-06" in get_text(as_stranger.get(f"{PAGE}&to=2026-01-06"))


@pytest.mark.parametrize(
    ("recent", "earlier", "word"), [(20, 0, "More"), (30, 80, "More"), (10, 80, "Fewer"), (20, 81, "–"), (19, 0, "–")]
)
def test_a_change_by_half_is_marked_from_20_events_on(as_stranger, ada, recent, earlier, word):
    for number in range(earlier):
        store_event(event_id=f"e{number}", ts_ms=T0 + number)
    for number in range(recent):
        store_event(event_id=f"n{number}", ts_ms=T0 + 20 * DAY_MS + number)
    page = get_text(as_stranger.get(f"{PAGE}&to=2026-01-26"))
    assert f">{word}</" in page.partition('data-label="Change"')[2].partition("</tr>")[0]


def test_a_ledger_that_is_too_big_to_count_says_so(as_stranger, ada, monkeypatch):
    store_call(1, 100)
    monkeypatch.setattr(time_limits, "STEPS", 1)
    monkeypatch.setattr(scope_statistics, "COUNT_MS", 0)
    page = as_stranger.get(PAGE)
    assert "There are too many events in this scope to count them here." in get_text(page)
    page = get_text(as_stranger.get("/agents/ada/episodes/"))
    assert "There are too many events to count them here." in page and ">global</a>" in page


def test_an_empty_scope_and_a_wrong_day(as_stranger, ada):
    assert "No events in this scope" in get_text(as_stranger.get(PAGE))
    assert "Write days like 2026-02-21." in get_text(as_stranger.get(f"{PAGE}&to=yesterday"))
