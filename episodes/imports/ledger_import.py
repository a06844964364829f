"""Imports rows of openclaw-mem's ledger into the ledger of an agent.

Rows stay as they are; redacted ones come without their texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from agents.models import Agent
from episodes.collectors.openclaw_mem import SourceRow
from episodes.events import PAYLOAD_BYTES, REFS_BYTES, NewEvent, WrongEvent

from .normalization import bound_json, clean_text
from .source_events import build_source_event, cut_summary, is_withheld, store_events

NAMES = ("imported", "known", "expired", "redacted", "truncated", "withheld", "rejected")


@dataclass(slots=True)
class ReadRows:
    """Rows with their events, those that are no events with reasons, and how many are withheld.

    `cut_ids` are events with a text that was cut.
    """

    events: list[tuple[SourceRow, NewEvent]] = field(default_factory=list)
    rejected: list[tuple[SourceRow, str]] = field(default_factory=list)
    withheld: int = 0
    cut_ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class ImportResult:
    """Numbers of rows by outcome, and the rows that are no events with their reasons."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    rejected: list[tuple[SourceRow, str]] = field(default_factory=list)


def import_rows(agent: Agent, rows: Iterable[SourceRow], opted_out: frozenset[str]) -> ImportResult:
    """Store at most 1,000 rows in the file of an agent, in one transaction.

    Known events stay as they are. While somebody is opted out, only events of direct conversations with other people
    are stored.
    """
    read = read_rows(rows, opted_out)
    result, events = ImportResult(rejected=read.rejected), [event for _row, event in read.events]
    stored = store_events(agent.db, events)
    redacted_ids = {event.event_id for event in events if event.is_redacted}
    result.counts |= {"imported": len(stored.new), "known": stored.known, "expired": stored.expired}
    result.counts |= {"redacted": len(stored.new & redacted_ids), "truncated": len(stored.new & read.cut_ids)}
    result.counts |= {"withheld": read.withheld, "rejected": len(read.rejected)}
    return result


def read_rows(rows: Iterable[SourceRow], opted_out: frozenset[str]) -> ReadRows:
    """Return what an import makes of rows; it stores nothing."""
    read = ReadRows()
    for row in rows:
        try:
            if row.problem:
                raise WrongEvent(row.problem)
            values = row.values
            is_redacted = values["redacted"] != 0
            summary, *cuts = cut_summary(clean_text(values["summary"]))
            payload = refs = None
            if not is_redacted:
                payload, is_cut = _read_json(values["payload_json"], "payload", PAYLOAD_BYTES)
                refs, is_refs_cut = _read_json(values["refs_json"], "refs", REFS_BYTES)
                cuts += [is_cut, is_refs_cut]
            names = ("event_id", "ts_ms", "scope", "session_id", "agent_id", "type", "created_at")
            event = build_source_event(
                is_redacted=is_redacted,
                **{name: values[name] for name in names},
                summary=summary,
                payload=payload,
                refs=refs,
            )
            is_cut = any(cuts) and not is_redacted
        except WrongEvent as exc:
            read.rejected.append((row, exc.sentence))
            continue
        if is_withheld(event.session_id, opted_out):
            read.withheld += 1
            continue
        read.events.append((row, event))
        read.cut_ids |= {event.event_id} if is_cut else set()
    return read


def _read_json(text, label, most_bytes) -> tuple[Any, bool]:
    try:
        return bound_json(None if text is None else orjson.loads(text), most_bytes, label)
    except ValueError as exc:
        raise WrongEvent(f"{label} is no JSON") from exc
