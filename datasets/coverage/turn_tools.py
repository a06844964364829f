"""The times of turns and the tools that answered in them, by the sessions and numbers of the turns."""

from collections.abc import Iterable

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import decode, encode

MOST_TOOLS, MOST_RECORDS = 20, 500  # of a turn
LONGEST_NAME = 100
TURNS = f"""
    SELECT turns.session_id, turns.turn_number, turns.created_at, (
        SELECT json_group_array(DISTINCT substr(events.tool_name, 1, {LONGEST_NAME})) FROM transcript_events events
        WHERE events.session_id = turns.session_id AND events.kind = 'tool_result' AND events.tool_name <> ''
            AND events.seq BETWEEN turns.first_seq AND MIN(turns.last_seq, turns.first_seq + {MOST_RECORDS})
            AND events.turn_number = turns.turn_number)
    FROM {dialect.json_array("listed")} CROSS JOIN conversation_turns turns
    ON turns.session_id = {dialect.json_item("listed.value", 0)}
        AND turns.turn_number = {dialect.json_item("listed.value", 1)}
"""  # noqa: S608 - our own words
Place = tuple[str, int | None]
TurnTools = tuple[int, tuple[str, ...]]


def read_tools(db: str | None, places: Iterable[Place]) -> dict[Place, TurnTools]:
    """The time of each of these turns and the first tools by name, by session and number of the turn.

    Turns that are not stored are left out; all are, without a file of the agent.
    """
    listed = sorted({place for place in places if place[1] is not None})
    rows = statements.read_rows(db, TURNS, [encode(listed)]) if db else ()
    return {
        (session, number): (at, tuple(sorted(decode(tools, list))[:MOST_TOOLS])) for session, number, at, tools in rows
    }
