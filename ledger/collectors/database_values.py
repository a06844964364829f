"""Reads values of a row of `Database`: texts are bytes, and a value may be missing. Each raises Unusable."""

from collections.abc import Mapping
from typing import Any

from .records import parse_moment_ms


class Unusable(Exception):
    """A value does not fit its column."""


def read_text(row: Mapping[str, Any], name: str) -> str | None:
    """Return a text."""
    value = row[name]
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise Unusable(f"{name} is no text")
    try:
        return value.decode()
    except UnicodeDecodeError as exc:
        raise Unusable(f"{name} is not UTF-8") from exc


def read_count(row: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number from 0."""
    value = row[name]
    if value is None:
        return None
    if isinstance(value, bytes) or not 0 <= value < 2**53 or value != int(value):
        raise Unusable(f"{name} is no count")
    return int(value)


def read_moment(row: Mapping[str, Any], name: str) -> int | None:
    """Return a time in milliseconds."""
    value = row[name]
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    at = None if value is None else parse_moment_ms(value)
    if value is not None and at is None:
        raise Unusable(f"{name} is no time")
    return at
