"""Checks and stores events of sources that are read again and again, with their positions."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.sources import SourceBook
from episodes.append import append
from episodes.chain.heads import read_head
from episodes.events import SUMMARY_CHARACTERS, Limits, NewEvent, WrongEvent, build_event
from episodes.models import REDACTED, RUN_SESSION, EpisodeRun
from ledger.collectors.session_index import parse_session_key
from openclaw_web.sqlite.json_columns import decode, encode

READER = 1  # increased when readers take more: sources are then read again from their start
LIMITS = Limits(allows_tool_output=True)  # texts of sources are checked before
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class StoreResult:
    """Ids of new events, numbers of known ones and of those that retention removed before."""

    new: frozenset[str]
    known: int
    expired: int


def build_source_event(*, is_redacted: bool = False, created_at: str | None = None, **values: Any) -> NewEvent:
    """Build the event of a source from the values that `build_event` takes.

    With `is_redacted` its texts are left out. `created_at` is the time at which the source stored it, as it wrote it.
    Raises WrongEvent for values that break a rule.
    """
    if str(values["session_id"]).strip() == RUN_SESSION:
        raise WrongEvent(f"session_id {RUN_SESSION} is that of retention runs")
    texts = {"summary": REDACTED, "payload": None, "refs": None} if is_redacted else {}
    event = build_event(**(values | texts), limits=LIMITS)
    return replace(event, is_redacted=is_redacted, created_at=created_at)


def cut_summary(summary: str) -> tuple[str, bool]:
    """Return a summary of at most 1,000 characters, and whether it was longer."""
    if len(summary) <= SUMMARY_CHARACTERS:
        return summary, False
    return summary[: SUMMARY_CHARACTERS - len(ELLIPSIS)] + ELLIPSIS, True


def store_events(db: str, events: Sequence[NewEvent]) -> StoreResult:
    """Append at most 1,000 events of a source.

    Known events stay as they are, so that what was redacted here stays redacted. Events that a retention run removed
    are not stored again.
    """
    wanted_events = select_unexpired(db, events)
    appended = append(db, wanted_events, is_source=True)
    return StoreResult(frozenset(appended.new), len(appended.known), len(events) - len(wanted_events))


def select_unexpired(db: str, events: Sequence[NewEvent]) -> list[NewEvent]:
    """Return the events that no retention run here would have removed."""
    cutoffs = _read_cutoffs(db, {event.scope for event in events})
    return [event for event in events if event.ts_ms >= cutoffs.get((event.scope, event.type), 0)]


def _read_cutoffs(db, scopes: Iterable[str]):
    """Return by scope and type the time before which a retention run has removed events.

    Events that are younger than a run were not there, whatever time it was run for.
    """
    cutoffs: dict[tuple[str, str], int] = {}
    runs = EpisodeRun.objects.using(db).filter(scope__in=scopes)
    for scope, event_type, before_ms, created_at in runs.values_list("scope", "type", "before_ms", "created_at"):
        cutoff = min(before_ms, created_at)
        cutoffs[scope, event_type] = max(cutoff, cutoffs.get((scope, event_type), 0))
    return cutoffs


def is_withheld(session_id: str, opted_out: frozenset[str]) -> bool:
    """Whether an event may hold words of somebody who opted out.

    With opt-outs, only events of direct conversations with other people are known not to: nothing else says who spoke.
    """
    if not opted_out:
        return False
    origin, _channel, target = parse_session_key(session_id)
    names = {target, target.split(":", 1)[-1]} if target else set()
    return origin != "direct" or not names or bool(opted_out & names)


@dataclass(frozen=True, slots=True)
class PositionStore:
    """How far one source was read, for one or several agents.

    `how` names what a reading depends on: read in another way, the source is read from its start. `dbs` are the files
    of the agents, by agent.
    """

    book: SourceBook
    kind: str
    path: Path
    how: Sequence[str]
    dbs: Mapping[str, str]

    def load(self) -> dict[str, Any]:
        """Return the position; empty for a new source, and after an agent lost events."""
        packed = self.book.load_reader_state(self.kind, self.path, self._digest())
        position = decode(packed)
        heads = position.pop("heads", {})
        is_whole = all(read_head(db).last_id >= heads.get(agent_id, 0) for agent_id, db in self.dbs.items())
        return position if is_whole else {}

    def save(self, position: Mapping[str, Any]) -> None:
        """Store the position, after the events before it were stored."""
        heads = {agent_id: read_head(db).last_id for agent_id, db in self.dbs.items()}
        self.book.save_reader_state(self.kind, self.path, self._digest(), encode({**position, "heads": heads}).encode())

    def _digest(self):
        return hashlib.sha256("\n".join([str(READER), *self.how]).encode()).hexdigest()
