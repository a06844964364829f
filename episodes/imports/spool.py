"""Ingests a spool of the existing tool: new lines become events. The spool is only read."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from agents.homes import NotReadable, open_regular
from agents.models import Agent
from agents.sources import SourceBook
from episodes.append import MOST_AT_ONCE
from episodes.collectors.complete_lines import CompleteLine, read_complete_lines, read_tail
from episodes.events import PAYLOAD_BYTES, WrongEvent
from gate.collectors.batches import split_batches
from ledger import consent
from openclaw_web.errors import Refused

from .source_events import PositionStore, is_withheld, store_events
from .spool_events import SpoolEvent, SpoolLimits, normalize_event

SPOOL_SCHEMA = "openclaw-mem.episodes.spool.v0"
KIND = "episode_spool"
ID_DIGITS = 32
MOST_ERRORS = 5  # that a receipt names
REPLACED, SHRUNK = "reset_to_zero_source_replaced", "reset_to_zero_source_shrunk"


class UnreadableSource(Refused):
    """A file that is not opened, or is not there."""


@dataclass(slots=True)
class SpoolResult:
    """Numbers of one reading of a spool, and where it began and ended."""

    start_offset: int = 0
    next_offset: int = 0
    size: int = 0
    recovery: str | None = None
    sha256: str | None = None
    lines: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("total", "blank", "invalid_json", "invalid_event", "duplicates"), 0)
    )
    inserted: int = 0
    # Events that retention removed before, and those withheld because somebody opted out.
    expired: int = 0
    withheld: int = 0
    payload_truncated: int = 0
    refs_truncated: int = 0
    summary_truncated: int = 0
    redacted_late: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        """Return whether anything was read, or the spool was another one."""
        return bool(self.next_offset != self.start_offset or self.recovery)

    def note_error(self, name: str, offset: int, reason: str) -> None:
        """Count a line that is no event."""
        self.lines[name] += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(f"line@{offset}: {reason}")

    def as_json(self, path: Path, limits: SpoolLimits) -> dict[str, Any]:
        """Return the keys of the existing tool's receipt; our own ones only where they say something."""
        more = {name: count for name in ("expired", "withheld") if (count := getattr(self, name))}
        bounded = {f"{name}_truncated": getattr(self, f"{name}_truncated") for name in ("payload", "refs")}
        bounded |= {"summary_truncated": self.summary_truncated} if self.summary_truncated else {}
        return {
            "source": {
                "file": str(path),
                "state": None,
                "start_offset": self.start_offset,
                "next_offset": self.next_offset,
                "snapshot_size": self.size,
                "offset_recovery": self.recovery,
                "trailing_partial_bytes": max(0, self.size - self.next_offset),
                "processed_sha256": self.sha256,
                "spool_schema": SPOOL_SCHEMA,
            },
            "lines": {**self.lines, **more},
            "inserted": self.inserted,
            "bounded": {**describe_limits(limits), **bounded, "redacted_late": self.redacted_late},
            "maintenance": {"requested": "none", "applied": "none", "reason": None, "rotated_to": None},
            "errors_sample": self.errors,
        }


def describe_limits(limits: SpoolLimits) -> dict[str, int]:
    """Return the limits as receipts have them."""
    return {
        "payload_cap_bytes": min(limits.payload_bytes, PAYLOAD_BYTES),
        "conversation_payload_cap_bytes": min(limits.conversation_bytes, PAYLOAD_BYTES),
        "payload_hard_cap_bytes": PAYLOAD_BYTES,
        "refs_cap_bytes": limits.refs_bytes,
    }


def ingest(agent: Agent, path: Path, limits: SpoolLimits) -> SpoolResult:
    """Store the events of a spool's new lines in the file of an agent.

    The position is stored after each batch, so that a kill loses nothing. Raises UnreadableSource.
    """
    opted_out = consent.read_opted_out()
    book = SourceBook(path.parent)
    positions = PositionStore(book, f"{KIND}:{agent.agent_id}", path, sorted(opted_out), {agent.agent_id: agent.db})
    with _open_spool(path) as file:
        stat = os.fstat(file.fileno())
        result = SpoolResult(size=stat.st_size)
        result.start_offset, result.recovery = _find_start(file, stat, positions.load())
        result.next_offset, digest = result.start_offset, hashlib.sha256()
        lines = read_complete_lines(file, result.start_offset, stat.st_size)
        for batch in split_batches(lines, lambda line: len(line.raw), MOST_AT_ONCE):
            _store_batch(agent, batch, limits, opted_out, result)
            for line in batch:
                digest.update(line.raw)
            result.next_offset = batch[-1].end
            result.sha256 = digest.hexdigest()
            positions.save(_build_position(file, stat, result.next_offset))
    return result


def _open_spool(path):
    try:
        if not path.is_file():
            raise UnreadableSource(f"source file not found: {path}")
        return open_regular(path.parent, path)
    except (NotReadable, OSError) as exc:
        raise UnreadableSource(f"{path}: {exc}") from exc


def _find_start(file: BinaryIO, stat, position) -> tuple[int, str | None]:
    """Return where reading begins, and why it begins at the start again."""
    offset = position.get("offset", 0)
    if not position:
        return 0, None
    if position["file"] != [stat.st_dev, stat.st_ino]:
        return 0, REPLACED
    if stat.st_size < offset:
        return 0, SHRUNK
    is_same = hashlib.sha256(read_tail(file, offset)).hexdigest() == position["tail"]
    return (offset, None) if is_same else (0, REPLACED)


def _build_position(file, stat, offset):
    tail = hashlib.sha256(read_tail(file, offset)).hexdigest()
    return {"offset": offset, "file": [stat.st_dev, stat.st_ino], "tail": tail}


def _store_batch(agent, batch, limits, opted_out, result):
    spool_events = list(_read_events(batch, limits, opted_out, result))
    stored = store_events(agent.db, [spool_event.event for spool_event in spool_events])
    result.inserted += len(stored.new)
    result.lines["duplicates"] += stored.known
    result.expired += stored.expired
    for spool_event in (spool_event for spool_event in spool_events if spool_event.event.event_id in stored.new):
        result.payload_truncated += spool_event.is_payload_cut
        result.refs_truncated += spool_event.is_refs_cut
        result.summary_truncated += spool_event.is_summary_cut
        result.redacted_late += spool_event.is_withdrawn


def _read_events(batch: list[CompleteLine], limits, opted_out, result) -> Iterator[SpoolEvent]:
    for line in batch:
        if line.is_rest or line.is_blank:
            result.lines["blank"] += not line.is_rest
            continue
        result.lines["total"] += 1
        if line.record is None:
            result.note_error("invalid_json", line.offset, "invalid_json")
            continue
        try:
            spool_event = normalize_event(line.record, _build_id(line), limits)
        except WrongEvent as exc:
            result.note_error("invalid_event", line.offset, exc.sentence)
            continue
        if is_withheld(spool_event.event.session_id, opted_out):
            result.withheld += 1
        else:
            yield spool_event


def _build_id(line):
    """Return the id of an event whose line names none, as the existing tool makes it."""
    return f"ep-{hashlib.sha256(f'{line.offset}:'.encode() + line.text).hexdigest()[:ID_DIGITS]}"
