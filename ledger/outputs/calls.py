"""Finds the calls that outputs came from, in the transcript before each result."""

from typing import Any

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import decode, encode

from ..collectors.records import ToolCall, read_facts
from ..injected_prompts import split_injected
from ..models import Session
from ..session.timeline import find_main_argument

NEAR = 60  # records between a call and its result, at most: other calls of the same answer, and their results
# For each use one step to its record and a few back, to the last call before it with this id.
CALLS = f"""
    SELECT {dialect.json_text("listed.value", "id")}, asked.event_json
    FROM {dialect.json_array("listed")}
    JOIN transcript_events answer ON answer.session_id = {dialect.json_text("listed.value", "session_id")}
        AND answer.event_id = {dialect.json_text("listed.value", "record_id")}
    JOIN transcript_events asked ON asked.session_id = answer.session_id AND asked.seq = (
        SELECT own.seq FROM transcript_events own
        WHERE own.session_id = answer.session_id AND own.seq < answer.seq AND own.seq > answer.seq - {NEAR}
            AND own.tool_call_count > 0
            AND instr(own.event_json, {dialect.json_text("listed.value", "tool_call_id")})
        ORDER BY own.seq DESC LIMIT 1)
"""  # noqa: S608 - constants


def find_calls(db: str, uses: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """The main argument of each use's call by the use's id, and the titles of sessions.

    `uses` have the fields of `artifacts.artifact_names.PLACE`.
    """
    arguments = {use_id: find_main_argument(call.arguments) for use_id, call in read_calls(db, uses).items()}
    ids = {use["session_id"] for use in uses if use["session_id"]}
    titles = Session.objects.using(db).filter(id__in=ids).values_list("id", "title") if ids else ()
    return arguments, {session_id: split_injected(title)[1] for session_id, title in titles}


def read_calls(db: str, uses: list[dict[str, Any]]) -> dict[str, ToolCall]:
    """The calls of these uses by the use's id."""
    complete_uses = [use for use in uses if all(use.values())]
    rows = statements.read_rows(db, CALLS, [encode(complete_uses)]) if complete_uses else []
    call_ids = {use["id"]: use["tool_call_id"] for use in complete_uses}
    calls = ((use_id, call) for use_id, text in rows for call in read_facts(decode(text)).calls)
    return {use_id: call for use_id, call in calls if call.id == call_ids[use_id]}
