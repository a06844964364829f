"""Stores events for tests of pages."""

from dataclasses import replace

from episodes.append import append
from episodes.events import Limits, build_event
from tests.factories import T0

DEFAULTS = {
    "type": "conversation.user",
    "scope": "global",
    "session_id": "s1",
    "agent_id": "ada",
    "summary": "Asked for bread.",
    "ts_ms": T0,
}


def store_event(*, db="agent_ada", is_redacted=False, **values):
    """Store an event of the scope `global`; returns its id."""
    event = build_event(**DEFAULTS | values, limits=Limits(allows_tool_output=True))
    append(db, [replace(event, is_redacted=is_redacted)])
    return event.event_id
