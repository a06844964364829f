"""The replay of a session: in order, page by page, with what retention removed."""

import pytest

from agents import services
from episodes import retention
from openclaw_web.clock import DAY_MS
from tests.episodes.ledger_events import store_event
from tests.factories import T0
from tests.ledger.transcript_records import get_text

PAGE, MAIN = (f"/agents/{agent}/episodes/replay/s1/?scope=global" for agent in ("ada", "main"))
pytestmark = pytest.mark.django_db


def read_timeline(client, address):
    """Read a page: ids of events, `gap` for removed ones, and the next cursor."""
    context = client.get(address).context
    return [event["event_id"] if event else "gap" for event, _gap in context["timeline"]], context["page"].next


def test_events_are_in_the_order_of_their_time(as_stranger, ada):
    for name, moment in (("late", 5), ("early", 1), ("same", 5)):
        store_event(event_id=name, ts_ms=T0 + moment, payload={"text": "<i>bread</i>"})
    store_event(event_id="other", scope="alpha")
    store_event(event_id="elsewhere", session_id="s2")
    assert read_timeline(as_stranger, PAGE) == (["early", "late", "same"], None)
    assert "&lt;i&gt;bread" in get_text(as_stranger.get(PAGE))


def test_a_gap_stands_at_its_time_on_one_page_only(as_stranger, real_files):
    agent = services.register("main")
    for number in range(120):
        store_event(db=agent.db, event_id=f"e{number}", ts_ms=T0 + number * DAY_MS)
    for number in (3, 110):
        store_event(db=agent.db, event_id=f"t{number}", type="tool.call", ts_ms=T0 + number * DAY_MS)
        store_event(db=agent.db, event_id=f"o{number}", type="ops.alert", ts_ms=T0 + number * DAY_MS)
    retention.run(agent, "global", {"conversation.user": None, "ops.alert": None}, now_ms=T0 + 34 * DAY_MS, by="root")
    first, after = read_timeline(as_stranger, MAIN)
    assert first[first.index("gap") + 1] == "e4" and first.count("gap") == 1 and "t3" not in first
    second, _end = read_timeline(as_stranger, MAIN + f"&after={after}")
    assert "gap" not in second and len(first) + len(second) == 124
    retention.run(agent, "global", {"conversation.user": None, "ops.alert": None}, now_ms=T0 + 145 * DAY_MS, by="root")
    first, after = read_timeline(as_stranger, MAIN)
    second, _end = read_timeline(as_stranger, MAIN + f"&after={after}")
    assert "gap" not in first and second.count("gap") == 1 and second[second.index("gap") + 1] == "e115"
    assert "Retention removed 2 events of type tool.call from this scope" in get_text(
        as_stranger.get(f"{MAIN}&after={after}")
    )


def test_a_session_without_events_and_a_redacted_event(as_stranger, ada):
    assert "No events of this session in this scope" in get_text(as_stranger.get(PAGE))
    store_event(summary="bread", payload={"a": "bread"}, is_redacted=True)
    page = get_text(as_stranger.get(PAGE))
    assert "[REDACTED]" in page and "bread" not in page and "Redact session" not in page
