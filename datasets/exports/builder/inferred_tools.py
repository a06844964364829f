"""Describes an agent's tools from its stored calls, where none are recorded.

A tool has the name that was called, and the arguments that were seen with their types. The same store gives the same
list, for all sessions of an agent: a list of the tools of one row would give its answer away.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ledger.collectors.records import read_message_facts
from ledger.models import SessionTool, TranscriptEvent
from ledger.outputs import stashed_outputs as outputs

from ...exporters.formats.tools import UnknownForm
from ...exporters.prompts import INFERRED, NOT_RECORDED, TOO_LONG, TOOLS, Part, build_empty_part, build_tools_part

MOST_TOOLS, MOST_ARGUMENTS, LONGEST_NAME = 128, 64, 128
SESSIONS, CALLS = 2, 100  # sessions of a tool, and messages with calls of these sessions, that are read
MOST_READ = 20_000  # sums of tools in sessions
COLUMNS = ("event_json", "full_zstd", "trim_json")
TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
Arguments = dict[str, set[str]]  # the types that were seen of each


def build_inferred_part(db: str, characters: int) -> Part:
    """The column of an agent's tools, as far as its calls tell.

    Empty without calls, and where it would have more than this number of characters.
    """
    try:
        part = build_tools_part(infer_tools(_read_calls(db)), INFERRED) if db else build_empty_part(TOOLS, NOT_RECORDED)
    except UnknownForm:
        return build_empty_part(TOOLS, NOT_RECORDED)
    return part if len(part.text) <= characters else build_empty_part(TOOLS, TOO_LONG)


def infer_tools(calls: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The tools that these calls (name, arguments) used, as functions with the arguments that were seen.

    No argument is required, and no more than MOST_TOOLS tools with MOST_ARGUMENTS arguments are described.
    """
    seen: dict[str, Arguments] = {}
    for name, arguments in calls:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            continue
        if name in seen or len(seen) < MOST_TOOLS:
            _add_arguments(seen.setdefault(name, {}), arguments)
    return [{"name": name, "parameters": _build_schema(seen[name])} for name in sorted(seen)]


def _add_arguments(known: Arguments, arguments):
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        if len(name) <= LONGEST_NAME and (name in known or len(known) < MOST_ARGUMENTS):
            types = known.setdefault(name, set())
            if type(value) in TYPES:
                types.add(TYPES[type(value)])


def _build_schema(arguments: Arguments) -> dict[str, Any]:
    properties = {name: _build_property(arguments[name]) for name in sorted(arguments)}
    return {"type": "object", "properties": properties, "required": []}


def _build_property(types: set[str]) -> dict[str, Any]:
    """A property of one type; of values of several types nothing is said."""
    if types == {"integer", "number"}:
        return {"type": "number"}
    if types == {"array"}:
        return {"type": "array", "items": {}}
    return {"type": next(iter(types))} if len(types) == 1 else {}


def _read_calls(db: str) -> Iterator[tuple[str, Any]]:
    """Calls of an agent, from a few sessions of each of its tools."""
    for session_id in sorted(_choose_sessions(db), reverse=True):
        records = TranscriptEvent.objects.using(db).filter(session_id=session_id, is_active=True, tool_call_count__gt=0)
        for columns in records.order_by("seq").values_list(*COLUMNS)[:CALLS]:
            record, _problem = outputs.read_whole_record(*columns)
            yield from ((call.name, call.arguments) for call in read_message_facts(record).calls)


def _choose_sessions(db):
    """Sessions in which the tools of an agent were called, of each tool the same few."""
    counted = SessionTool.objects.using(db).filter(call_count__gt=0).exclude(tool="").order_by("-session_id", "-date")
    chosen: dict[str, set[str]] = {}
    for tool, session_id in counted.values_list("tool", "session_id")[:MOST_READ]:
        if tool in chosen or len(chosen) < MOST_TOOLS:
            sessions = chosen.setdefault(tool, set())
            if len(sessions) < SESSIONS:
                sessions.add(session_id)
    return set().union(*chosen.values())
