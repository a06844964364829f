"""Which calls of tools wrote to a file, found in the transcripts, and which version each of them led to.

A call and a version belong together for certain when what the call wrote is in the version and was not in the one
before. Without that only the time speaks: the file was modified shortly after the call.
"""

import re
from collections.abc import Iterable
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

WINDOW = 5_000  # records that one search looks through
SHOWN = 20
WRITERS = ("write", "edit", "multi_edit", "apply_patch", "write_file", "edit_file", "create_file")
PATHS = ("path", "file_path", "filePath", "file", "filename")
PATCHES = ("patch", "input", "_text")
PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (.{1,500})$", re.MULTILINE)
NEW_TEXTS = ("content", "newText", "new_text", "new_string", "newString")
OLD_TEXTS = ("oldText", "old_text", "old_string", "oldString")
RESULTS_NEAR = 40  # records after a call in which its result stands
SHORTEST = 8  # characters that are told from others by being the same
NEAR_MS = 120_000  # between a call and when its file was modified
BEFORE_MS = 5_000  # clocks differ: a version may be this much older than its call
COMPARED_BYTES = 2_000_000  # of all versions that calls of one page are compared with
ORDER = ("-created_at", "-place")
READ = ("session_id", "seq", "created_at", "turn_number", "event_json", "place")


@dataclass(slots=True)
class ToolWrite:
    """One call. `is_certain` says how `version_id` is known: its text is there, or the times are near."""

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


def find_tool_writes(agent: Agent, name: str, *, after: str | None = None, size: int = SHOWN, **place: Any) -> Page:
    """A page of the calls that named a file to write to it, the newest first; `is_partial` when the window ended."""
    rows = TranscriptEvent.objects.using(agent.db).placed().values(*READ)
    listing = Listing(rows, ORDER, _names(name), WINDOW)
    found = listing.page(after=after, size=size, **place)
    called = [(row, call) for row in found for call in _calls(row) if _is_about(call, name)]
    titles = _titles(agent.db, {row["session_id"] for row, _call in called})
    failed = _failed(agent.db, called)
    writes = [_write(row, call, titles, failed) for row, call in called]
    _find_versions(agent, name, [(write, call) for write, (_row, call) in zip(writes, called, strict=True)])
    page = Page(writes)
    page.next, page.previous, page.is_partial = found.next, found.previous, found.is_partial
    return page


def group_by_version(writes: Iterable[ToolWrite]) -> dict[str, list[ToolWrite]]:
    """The calls that led to each version, by its id."""
    found: dict[str, list[ToolWrite]] = {}
    for write in writes:
        if write.version_id:
            found.setdefault(write.version_id, []).append(write)
    return found


def _names(name):
    """What every record with such a call holds; looked for in calls only."""
    tools = Q()
    for tool in WRITERS:
        tools |= Q(event_json__contains=f'"{tool}"')
    last = orjson.dumps(name.rpartition("/")[2]).decode()[1:-1]
    return Q(tool_call_count__gt=0) & Q(event_json__contains=last) & tools


def _calls(row):
    row["record"] = decode(row["event_json"])
    return [call for call in read_facts(row["record"]).calls if call.name in WRITERS]


def _is_about(call: ToolCall, name: str) -> bool:
    """Whether a call names a file of the workspace, by its path there or a longer one that ends with it."""
    named = [call.arguments[key] for key in PATHS if isinstance(call.arguments.get(key), str)]
    for key in PATCHES:
        if isinstance(text := call.arguments.get(key), str):
            named += PATCHED.findall(text)
    plain = (path.strip().replace("\\", "/").removeprefix("./") for path in named)
    return any(path == name or path.endswith(f"/{name}") for path in plain)


def _titles(db, ids):
    titles = Session.objects.using(db).filter(id__in=ids).values_list("id", "title") if ids else ()
    return {session_id: split_injected(title)[1] or session_id for session_id, title in titles}


def _failed(db, called):
    """The ids of calls whose result says that they failed, with their sessions."""
    near = Q()
    for row, _call in called:
        near |= Q(session_id=row["session_id"], seq__gt=row["seq"], seq__lte=row["seq"] + RESULTS_NEAR)
    if not called:
        return set()
    results = TranscriptEvent.objects.using(db).filter(near, kind="tool_result", is_failed=True)
    found = results.values_list("session_id", "event_json").order_by()[: SHOWN * RESULTS_NEAR]
    return {(session_id, read_facts(decode(text)).tool_call_id) for session_id, text in found}


def _write(row, call, titles, failed):
    own = row["record"].get("id")
    return ToolWrite(
        session_id=row["session_id"],
        session_title=titles.get(row["session_id"], row["session_id"]),
        turn_number=row["turn_number"],
        record_id=own if isinstance(own, str) else "",
        tool=call.name,
        created_at=row["created_at"],
        is_failed=(row["session_id"], call.id) in failed,
    )


def _find_versions(agent, name, writes):
    """Give each write the version that it led to: the first one that is not older than the call."""
    known = list(
        versions.find_versions(agent, name).order_by("created_at", "id").values_list("id", "created_at", "size_bytes")
    )
    contents = _Contents(agent, name)
    for write, call in writes:
        if write.is_failed:
            continue
        place = next((at for at, row in enumerate(known) if row[1] >= write.created_at - BEFORE_MS), None)
        if place is None:
            continue
        version_id, modified, size = known[place]
        earlier = known[place - 1] if place else None
        write.is_certain = _is_in(call, contents.of(version_id, size), contents.of(*earlier[::2]) if earlier else "")
        if write.is_certain or modified - write.created_at <= NEAR_MS:
            write.version_id, write.version_at = version_id, modified


def _is_in(call, new, old):
    """Whether what a call wrote is in a version and not in the one before, or what it took out is gone."""
    if new is None or old is None:
        return False
    edits = [call.arguments, *(edit for edit in call.arguments.get("edits") or () if isinstance(edit, dict))]
    written = [text for edit in edits for text in _texts(edit, NEW_TEXTS)]
    if written:
        return all(text in new and text not in old for text in written)
    taken = [text for edit in edits for text in _texts(edit, OLD_TEXTS)]
    return bool(taken) and all(text in old and text not in new for text in taken)


def _texts(edit, names):
    return [edit[name] for name in names if isinstance(edit.get(name), str) and len(edit[name]) >= SHORTEST]


class _Contents:
    """The contents of versions, each read once, as many as one page may compare."""

    def __init__(self, agent, name):
        self.rows = versions.get_model(name).objects.using(agent.db)
        self.left, self.known = COMPARED_BYTES, {}

    def of(self, version_id, size):
        if version_id not in self.known and size <= self.left:
            self.left -= size
            self.known[version_id] = self.rows.values_list("content", flat=True).get(id=version_id)
        return self.known.get(version_id)
