"""Checks that a row from a file outside can be one of ours.

Pages and sums rely on these properties without checking them.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import orjson
from django.db import models

from artifacts import handles
from openclaw_web.sqlite.fields import Count
from openclaw_web.sqlite.json_columns import decode

from . import trimming

MOST_MS, MOST_COUNT, MOST_COST = 2**53, 10**15, 10**12
LONGEST_ID = 500
STEP_ID = re.compile(r"[0-9a-f]{32}")


def is_session_id(name: Any) -> bool:
    """Whether a session can have this id: pages and files are named after it."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_ID and name.isprintable() and "/" not in name


def is_valid_value(field: models.Field, value: Any) -> bool:
    """Whether a value is of a column's type and within its bounds."""
    if isinstance(field, models.BinaryField):
        return isinstance(value, bytes)
    if isinstance(field, models.TextField):
        return isinstance(value, str) and (not field.choices or value in dict(field.choices))
    if isinstance(field, models.FloatField):
        return isinstance(value, int | float) and abs(value) <= MOST_COST
    if isinstance(field, models.BooleanField):
        return value in (0, 1)
    most = MOST_COUNT if isinstance(field, Count) else MOST_MS
    return type(value) is int and -most <= value <= most


def find_wrong_column(table: str, row: dict[str, Any]) -> str:
    """The first column of a row that breaks a rule of its table, or ""."""
    for name, is_right in RULES.get(table, {}).items():
        if row[name] is not None and not is_right(row[name], row):
            return name
    return ""


def _is_json(text, _row):
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _is_object(text, _row):
    return isinstance(decode(text, object), dict)


def _is_record(text, _row):
    return isinstance(decode(text).get("type"), str)


def _is_step_id(text, _row):
    return bool(STEP_ID.fullmatch(text))


def _is_list(text, _row):
    return isinstance(decode(text, object), list)


def _is_trim(text, row):
    if not _is_object(text, row):
        return False
    try:
        notes, cut = trimming.parse_stashed(text), list(trimming.parse_cuts(text))
    except (TypeError, ValueError):
        return False
    places = [note.path for note in notes] + [path for path, _length in cut]
    return all(isinstance(place, str) for place in places) and all(_is_handle(note.handle, row) for note in notes)


def _is_day(text, _row):
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_handle(text, _row):
    try:
        return bool(handles.parse(text))
    except handles.NotAHandle:
        return False


def _is_hash(text, row):
    return hashlib.sha256(row["report_json"].encode()).hexdigest() == text


def _is_of_session(text, row):
    return text.startswith(f"{row['session_id']}:")


RULES: dict[str, dict[str, Callable[[Any, dict[str, Any]], bool]]] = {
    "prompt_reports": {"id": _is_hash, "report_json": _is_object},
    "sessions": {"metadata": _is_object},
    "transcript_events": {"event_json": _is_record, "trim_json": _is_trim},
    "transcript_snapshots": {"metadata_json": _is_object},
    "conversation_turns": {"id": _is_of_session, "user_metadata": _is_json, "agent_metadata": _is_json},
    "session_days": {"date": _is_day},
    "session_tools": {"date": _is_day},
    "trajectory_events": {"id": _is_step_id, "about_json": _is_object},
    "artifacts": {"handle": _is_handle, "meta_json": _is_object, "secret_kinds": _is_list},
}
