"""Finds the sessions whose records a session may repeat, by its header and index entry.

A fork begins with the records of the session it was taken from, the transcript after a compaction with those that were
kept. Both name that session by its id, by its key, or by the path of its file. A sub-agent repeats no records. No
Django, no files.
"""

import re
from collections.abc import Iterable
from typing import Any

from openclaw_web.sqlite.json_columns import decode, encode

KEY = "@"  # before the key of a session; no id begins with it
MOST = 50  # of one session
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SESSION_ID = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}", re.ASCII)
SUFFIX, TOPIC = ".jsonl", "-topic-"
IDS = ("parentSession", "parentSessionId", "previousSessionId", "forkedFromSessionId")
NAMES = frozenset({*IDS, "forkSource", "forkedFromParent", "parentSessionKey"})
PARTS = (":thread:", ":topic:")  # of a key: the text before it is the key of the parent
SPAWNED = ("spawnedBy", "spawnDepth")


def find_parents(records: Iterable[dict[str, Any] | None]) -> list[str]:
    """The sessions that headers among the records of a transcript name."""
    headers = (record for record in records if record is not None and record["type"] == "session")
    return [name for record in headers for name in _read_named(record)]


def find_entry_parents(key: str, entry: dict[str, Any]) -> list[str]:
    """The sessions that an entry of a session index names."""
    if not NAMES & entry.keys():
        return []
    source = entry.get("forkSource")
    if isinstance(source, dict):
        return _find_ids(source.get("sessionId")) or build_keys(source.get("sessionKey"))
    names = _read_named(entry)
    if entry.get("forkedFromParent") is True and not entry.get("parentSessionKey"):
        return [
            *names,
            *(name for part in PARTS for name in build_keys(key.partition(part)[0] if part in key else "")),
        ]
    if not any(entry.get(name) for name in SPAWNED) and ":subagent:" not in key:
        return [*names, *build_keys(entry.get("parentSessionKey"))]
    return names


def add_parents(column: str, names: Iterable[str]) -> str:
    """The column of a session with more parents added."""
    known = decode_parents(column)
    new = sorted({*names} - {*known})
    return encode(sorted([*known, *new])[:MOST]) if new else column


def decode_parents(column: str) -> list[str]:
    """The parents in the column of a session: ids, and keys after KEY."""
    return decode(column, list)


def _read_named(record):
    return [name for field in IDS for name in _find_ids(record.get(field))] if NAMES & record.keys() else []


def _find_ids(value):
    """The ids that an id or a path may mean.

    Files are named after their session, often with a time or a topic.
    """
    if not isinstance(value, str) or not value:
        return []
    name = re.split(r"[/\\]", value)[-1].partition(SUFFIX)[0]
    names = dict.fromkeys([*UUID.findall(name), name, name.partition(TOPIC)[0]])
    return [name for name in names if SESSION_ID.fullmatch(name)]


def build_keys(value: Any) -> list[str]:
    """The parent that has this key, as add_parents takes it; none for anything but a text."""
    return [KEY + value[:500]] if isinstance(value, str) and value else []
