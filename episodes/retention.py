"""Retention of events: how long each type is kept, and the run that removes older ones.

What a run removes leaves gaps in the chain and an event that says how much it was, by type and scope alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import dialect, statements, write_queue
from openclaw_web.sqlite.json_columns import encode
from people.audit import log as audit

from .append import append
from .chain import gaps, hashes
from .erasure import erase
from .events import NewEvent, WrongEvent, parse_type
from .models import RUN_ACTOR, RUN_SESSION, EpisodeGap, EpisodePolicy, EpisodeRun, EpisodicEvent

Type = EpisodicEvent.Type
FOREVER = ("forever", "inf", "infinite", "none")
DEFAULT_DAYS: dict[str, int | None] = {
    Type.CONVERSATION_ASSISTANT.value: 90,
    Type.CONVERSATION_USER.value: 60,
    Type.OPS_ALERT.value: 90,
    Type.OPS_DECISION.value: None,
    Type.OPS_OBSERVATION.value: None,
    Type.TOOL_CALL.value: 30,
    Type.TOOL_RESULT.value: 30,
}
MOST_DAYS = 36_500
BATCH_SIZE = 5_000  # events that one transaction removes
REMOVED = """
    SELECT e.id, coalesce(
        (SELECT chain_hash FROM episodic_events WHERE id = e.id - 1),
        (SELECT chain_after FROM episode_gaps WHERE last_id = e.id - 1)), e.chain_hash
    FROM episodic_events e WHERE e.scope = %s AND e.type = %s AND e.ts_ms < %s AND e.session_id <> %s
    ORDER BY e.ts_ms LIMIT %s
"""
DELETE = f"DELETE FROM episodic_events WHERE id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608


@dataclass(slots=True)
class RetentionResult:
    """Result of a run: how many events were removed, or would be, by type."""

    scope: str
    now_ts_ms: int
    policy_days: dict[str, int | None]
    deleted_by_type: dict[str, int] = field(default_factory=dict)

    @property
    def deleted_total(self) -> int:
        return sum(self.deleted_by_type.values())

    def as_json(self) -> dict[str, Any]:
        """Return the aggregate receipt, with the keys of the existing tool."""
        names = ("scope", "now_ts_ms", "deleted_total", "deleted_by_type", "policy_days")
        return {name: getattr(self, name) for name in names}


def parse_policy(entries: Iterable[str]) -> dict[str, int | None]:
    """Return the days by type that entries such as `tool.call=30` or `ops.alert=forever` say.

    Raises WrongEvent for anything else; 0 days are refused, since they would remove what was just stored.
    """
    policy: dict[str, int | None] = {}
    for entry in entries:
        name, sign, days = entry.strip().partition("=")
        if not sign:
            raise WrongEvent(f"invalid --policy entry: {entry[:100]}")
        policy[parse_type(name)] = parse_days(parse_type(name), days)
    return policy


def parse_days(event_type: str, text: str) -> int | None:
    """Return a number of days, None for forever. Raises WrongEvent."""
    word = text.strip().lower()
    if word in FOREVER:
        return None
    if not (word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= MOST_DAYS):
        raise WrongEvent(
            f"invalid retention days for {event_type}: {text.strip()[:100]} (1 to {MOST_DAYS}, or forever)"
        )
    return int(word)


def read_policy(db: str, scope: str) -> dict[str, int | None]:
    """Return the days by type in a scope: its own, or the defaults."""
    rows = EpisodePolicy.objects.using(db).filter(scope=scope)
    return DEFAULT_DAYS | dict(rows.values_list("type", "days"))


def set_policy(agent: Agent, scope: str, policy: dict[str, int | None], *, by: str) -> None:
    """Set the days of types in a scope."""
    for event_type, days in policy.items():
        EpisodePolicy.objects.using(agent.db).update_or_create(
            scope=scope, type=event_type, defaults={"days": days, "changed_by": by, "changed_at": clock.now_ms()}
        )
    audit.record(by, "episodes_policy", object_type="episode", object_id=scope, agent_id=agent.agent_id, policy=policy)


def plan(agent: Agent, scope: str, policy: dict[str, int | None] | None = None, *, now_ms: int | None = None):
    """Return what a run would remove: a RetentionResult.

    `policy` stands before what is set for the scope.
    """
    result = _build_result(agent, scope, policy, now_ms)
    for event_type, before in _find_cutoffs(result).items():
        rows = EpisodicEvent.objects.using(agent.db).filter(scope=scope, type=event_type, ts_ms__lt=before)
        result.deleted_by_type[event_type] = rows.exclude(session_id=RUN_SESSION).count()
    return result


def run(
    agent: Agent, scope: str, policy: dict[str, int | None] | None = None, *, now_ms: int | None = None, by: str
) -> RetentionResult:
    """Remove events that are older than their type is kept, and append an event about it.

    Each batch is one transaction with its gaps and its event, so that a kill loses nothing. What is removed is
    overwritten in the file.
    """
    planned = plan(agent, scope, policy, now_ms=now_ms)
    result = _build_result(agent, scope, policy, planned.now_ts_ms)
    if not planned.deleted_total:
        return result
    details = {"deleted": planned.deleted_by_type}
    with erase(agent.db, BATCH_SIZE) as batch_size:
        # Before the first event is removed: a process that dies later has its entry.
        audit.record(by, "episodes_removed", object_type="episode", object_id=scope, agent_id=agent.agent_id, **details)
        for event_type, before in _find_cutoffs(result).items():
            while removed := _remove_batch(agent.db, scope, event_type, before, by, batch_size):
                result.deleted_by_type[event_type] += removed
                if removed < batch_size:
                    break
    return result


def _build_result(agent, scope, policy, now_ms):
    days = read_policy(agent.db, scope) | (policy or {})
    result = RetentionResult(scope, clock.now_ms() if now_ms is None else now_ms, dict(sorted(days.items())))
    result.deleted_by_type = dict.fromkeys(sorted(days), 0)
    return result


def _find_cutoffs(result):
    days = {name: days for name, days in result.policy_days.items() if days is not None}
    return {name: result.now_ts_ms - count * DAY_MS for name, count in days.items()}


def _remove_batch(db, scope, event_type, before_ms, by, batch_size):
    with write_queue.agent_transaction(db):
        rows = statements.read_rows(db, REMOVED, [scope, event_type, before_ms, RUN_SESSION, batch_size])
        if not rows:
            return 0
        open_run = EpisodeRun.objects.using(db).create(
            id=str(ULID()),
            run_id=str(ULID()),
            scope=scope,
            type=event_type,
            before_ms=before_ms,
            removed_count=len(rows),
            started_by=by,
            created_at=clock.now_ms(),
        )
        removed = sorted((row_id, bytes(before or hashes.START), bytes(after)) for row_id, before, after in rows)
        statements.run(db, DELETE, [encode([row_id for row_id, _before, _after in removed])])
        gaps.add_removed(db, removed)
        EpisodeRun.objects.using(db).filter(id=open_run.id).update(is_open=False)
        append(db, [_build_event(db, open_run)])
    return len(rows)


def _build_event(db, run_row):
    """Build the event of a run: counts alone, and the hash of all gaps."""
    payload = {
        "run": run_row.run_id,
        "removed_type": run_row.type,
        "removed_count": run_row.removed_count,
        "before_ms": run_row.before_ms,
        "gap_count": EpisodeGap.objects.using(db).count(),
        "gaps_sha256": gaps.read_gaps_hash(db),
    }
    return NewEvent(
        event_id=f"retention-{run_row.run_id}",
        ts_ms=run_row.created_at,
        scope=run_row.scope,
        session_id=RUN_SESSION,
        agent_id=RUN_ACTOR,
        type=Type.OPS_OBSERVATION,
        summary=f"Retention removed {run_row.removed_count} {run_row.type} events",
        payload_json=encode(payload, is_sorted=True),
    )
