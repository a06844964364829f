"""Parses lines of the plugin's files to objects and their values."""

from typing import Any

from ledger.collectors.jsonl import MAX_LINE, Line, parse_line

from .source_decisions import Rejection


def parse_object(raw: bytes) -> dict[str, Any] | Rejection | None:
    """Return the object on a line, a problem, or None for an empty line."""
    if len(raw) > MAX_LINE:
        return Rejection("too_long", f"over {MAX_LINE} bytes")
    text = raw.strip()
    if not text:
        return None
    line = parse_line(Line(0, len(raw), text), is_typed=False)
    return Rejection(line.reason, line.detail) if line.record is None else line.record


def get_text(entry: Any, name: str) -> str:
    """Return a text of an object; empty for anything else."""
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, str) else ""


def get_object(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object within an object; an empty one for anything else."""
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def get_flag(entry: dict[str, Any], name: str) -> bool | None:
    """Return a boolean of an object; None for anything else."""
    value = entry.get(name)
    return value if isinstance(value, bool) else None


def get_count(entry: dict[str, Any], name: str) -> int | None:
    """Return a count of an object; None for anything else."""
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
