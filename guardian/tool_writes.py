"""Tool calls that wrote to a file, found in transcripts, and the versions they led to.

A call certainly led to a version when the text of the call is in the version and not in the one before. Otherwise only
the time says so: the file was modified shortly after the call.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Q

from agents.models import Agent
from ledger.collectors.records import ToolCall, read_facts
from ledger.injected_prompts import split_injected
from ledger.models import Session, TranscriptEvent
from openclaw_web.lists.paging import Listing, Page
from openclaw_web.sqlite.json_columns import decode

from . import versions
from .files import MEMORY_FILES
from .models import WriteGuardianAudit

WINDOW = 5_000  # records that one search looks through
SHOWN = 20
MOST_RECORDS = 200  # with calls, of turns
WRITERS = ("write", "edit", "multi_edit", "apply_patch", "write_file", "edit_file", "create_file")
PATHS = ("path", "file_path", "filePath", "file", "filename")
PATCHES = ("patch", "input", "_text")
PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (.{1,500})$", re.MULTILINE)
NEW_TEXTS = ("content", "newText", "new_text", "new_string", "newString")
OLD_TEXTS = ("oldText", "old_text", "old_string", "oldString")
RESULTS_NEAR = 40  # records after a call in which its result stands
SHORTEST = 8  # characters: shorter texts are found by chance
NEAR_MS = 120_000  # between a call and when its file was modified
BEFORE_MS = 5_000  # clocks differ: a version may be this much older than its call
COMPARED_BYTES = 2_000_000  # of all versions that calls of one page are compared with
ORDER = ("-created_at", "-place")
READ = ("session_id", "seq", "created_at", "turn_number", "event_json", "place")


@dataclass(slots=True)
class ToolWrite:
    """One tool call that wrote to a file.

    `is_certain` says how `version_id` is known: the text of the call is in the version, or only the times are near.
    """

    session_id: str
    session_title: str
    turn_number: int | None
    record_id: str
    tool: str
    created_at: int
    is_failed: bool
    version_id: str | None = None
    version_at: int | None = None
    is_certain: bool = False


def find_tool_writes(
    agent: Agent, name: str, *, after: str | None = None, size: int = SHOWN, until: int | None = None, **place: Any
) -> Page:
    """Return a page of the calls that named a file to write to it, newest first.

    `until` is the latest time of a call (ms). `is_partial` says that the search window ended before the page was full.
    """
    rows = TranscriptEvent.objects.using(agent.db).placed().values(*READ)
    rows = rows if until is None else rows.filter(created_at__lte=until)
    tools = Q()
    for tool in WRITERS:
        tools |= Q(event_json__contains=f'"{tool}"')
    last = orjson.dumps(name.rpartition("/")[2]).decode()[1:-1]
    listing = Listing(rows, ORDER, (Q(tool_call_count__gt=0) & Q(event_json__contains=last) & tools), WINDOW)
    matches = listing.page(after=after, size=size, **place)
    called = [(row, call) for row in matches for call in _read_calls(row) if _is_about(call, name)]
    page = Page(_build_writes(agent, name, called))
    page.next, page.previous, page.is_partial = matches.next, matches.previous, matches.is_partial
    return page


def find_turn_writes(agent: Agent, session_id: str, turn_numbers: Collection[int]) -> list[tuple[str, ToolWrite]]:
    """Return the calls of turns that certainly wrote to memory files or daily notes, each with the file's name."""
    rows = TranscriptEvent.objects.using(agent.db).placed().values(*READ).order_by("seq")
    rows = rows.filter(session_id=session_id, turn_number__in=turn_numbers, tool_call_count__gt=0)
    called_by_name = defaultdict(list)
    for row in rows[:MOST_RECORDS]:
        for call in _read_calls(row):
            for path in _list_paths(call):
                name = path.rpartition("/")[2]
                if f"/{versions.NOTES}" in f"/{path}":
                    name = versions.NOTES + path.rpartition(versions.NOTES)[2]
                if name in MEMORY_FILES or name.startswith(versions.NOTES):
                    called_by_name[name].append((row, call))
    writes = [(name, write) for name, called in called_by_name.items() for write in _build_writes(agent, name, called)]
    return [(name, write) for name, write in writes if write.is_certain]


def find_call(agent: Agent, audit: WriteGuardianAudit) -> ToolWrite | None:
    """Return the call that certainly led to the version of a write."""
    if not audit.target_file or not audit.after_snapshot_id:
        return None
    calls = find_tool_writes(agent, audit.target_file, until=audit.created_at + BEFORE_MS)
    return next((call for call in calls if call.is_certain and call.version_id == audit.after_snapshot_id), None)


def group_by_version(writes: Iterable[ToolWrite]) -> dict[str, list[ToolWrite]]:
    """Group the calls by the id of the version that they led to."""
    groups: dict[str, list[ToolWrite]] = {}
    for write in writes:
        if write.version_id:
            groups.setdefault(write.version_id, []).append(write)
    return groups


def _read_calls(row):
    row["record"] = decode(row["event_json"])
    return [call for call in read_facts(row["record"]).calls if call.name in WRITERS]


def _build_writes(agent, name, called):
    ids = {row["session_id"] for row, _call in called}
    stored = Session.objects.using(agent.db).filter(id__in=ids).values_list("id", "title")
    titles = {session_id: split_injected(title)[1] or session_id for session_id, title in stored}
    failed = _find_failed(agent.db, called)
    writes = [_build_write(row, call, titles, failed) for row, call in called]
    _find_versions(agent, name, [(write, call) for write, (_row, call) in zip(writes, called, strict=True)])
    return writes


def _is_about(call: ToolCall, name: str) -> bool:
    """Return whether a call names a file of the workspace by any path to it."""
    return any(path == name or path.endswith(f"/{name}") for path in _list_paths(call))


def _list_paths(call):
    named = [call.arguments[key] for key in PATHS if isinstance(call.arguments.get(key), str)]
    for key in PATCHES:
        if isinstance(text := call.arguments.get(key), str):
            named += PATCHED.findall(text)
    return [path.strip().replace("\\", "/").removeprefix("./") for path in named]


def _find_failed(db, called):
    """Return the ids of calls whose result says that they failed, each with its session."""
    near = Q()
    for row, _call in called:
        near |= Q(session_id=row["session_id"], seq__gt=row["seq"], seq__lte=row["seq"] + RESULTS_NEAR)
    if not called:
        return set()
    results = TranscriptEvent.objects.using(db).filter(near, kind="tool_result", is_failed=True)
    result_rows = results.values_list("session_id", "event_json").order_by()[: SHOWN * RESULTS_NEAR]
    return {(session_id, read_facts(decode(text)).tool_call_id) for session_id, text in result_rows}


def _build_write(row, call, titles, failed):
    record_id = row["record"].get("id")
    return ToolWrite(
        session_id=row["session_id"],
        session_title=titles.get(row["session_id"], row["session_id"]),
        turn_number=row["turn_number"],
        record_id=record_id if isinstance(record_id, str) else "",
        tool=call.name,
        created_at=row["created_at"],
        is_failed=(row["session_id"], call.id) in failed,
    )


def _find_versions(agent, name, writes):
    """Give each write its version: the first that is not older than the call."""
    known = list(
        versions.find_versions(agent, name).order_by("created_at", "id").values_list("id", "created_at", "size_bytes")
    )
    contents = _Contents(agent, name)
    for write, call in writes:
        if write.is_failed:
            continue
        place = next((number for number, row in enumerate(known) if row[1] >= write.created_at - BEFORE_MS), None)
        if place is None:
            continue
        version_id, modified_at, size = known[place]
        earlier = known[place - 1] if place else None
        write.is_certain = _is_in(
            call, contents.read(version_id, size), contents.read(*earlier[::2]) if earlier else ""
        )
        if write.is_certain or modified_at - write.created_at <= NEAR_MS:
            write.version_id, write.version_at = version_id, modified_at


def _is_in(call, new, old):
    """Return whether a version has the text of a call, and the earlier one lacks it.

    A call that only removes text is in a version when the text is gone.
    """
    if new is None or old is None:
        return False
    edits = [call.arguments, *(edit for edit in call.arguments.get("edits") or () if isinstance(edit, dict))]
    written = [text for edit in edits for text in _read_texts(edit, NEW_TEXTS)]
    if written:
        return all(text in new and text not in old for text in written)
    removed = [text for edit in edits for text in _read_texts(edit, OLD_TEXTS)]
    return bool(removed) and all(text in old and text not in new for text in removed)


def _read_texts(edit, names):
    return [edit[name] for name in names if isinstance(edit.get(name), str) and len(edit[name]) >= SHORTEST]


class _Contents:
    """The contents of versions, each read once, as many as one page may compare."""

    def __init__(self, agent, name):
        self.rows = versions.get_model(name).objects.using(agent.db)
        self.remaining, self.known = COMPARED_BYTES, {}

    def read(self, version_id, size):
        if version_id not in self.known and size <= self.remaining:
            self.remaining -= size
            self.known[version_id] = self.rows.values_list("content", flat=True).get(id=version_id)
        return self.known.get(version_id)
