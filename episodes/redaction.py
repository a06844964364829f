"""Redacts events: their texts and salts are destroyed, their rows and links of the chain stay.

Each redaction appends an event that names the rows, so that verification finds texts that somebody else removed.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode
from people.audit import log as audit

from .append import append
from .erasure import erase
from .events import NewEvent, WrongEvent, resolve_scope
from .models import REDACTED, REDACTED_JSON, RUN_ACTOR, RUN_SESSION, EpisodicEvent

REPLACEMENTS = {"null": None, "placeholder": REDACTED_JSON}
BATCH_SIZE = 500  # events of one transaction, whose numbers fit into a payload


@dataclass(frozen=True, slots=True)
class Redaction:
    """The events to redact: one, or all of a session, always within a scope."""

    scope: str
    event_id: str | None
    session_id: str | None
    replacement: str = "placeholder"

    @classmethod
    def parse(
        cls,
        scope: object,
        *,
        is_global: bool = False,
        event_id: str | None = None,
        session_id: str | None = None,
        replacement: str = "placeholder",
    ) -> "Redaction":
        """Check a request.

        Raises WrongScope without a scope, and WrongEvent unless it names an event or a session.
        """
        names = [(name or "").strip() or None for name in (event_id, session_id)]
        if bool(names[0]) == bool(names[1]):
            raise WrongEvent("provide exactly one of --event-id or --session-id")
        if replacement not in REPLACEMENTS:
            raise WrongEvent("replacement must be 'null' or 'placeholder'")
        return cls(resolve_scope(scope, is_global), names[0], names[1], replacement)

    def rows(self, db: str) -> QuerySet[EpisodicEvent]:
        """Return the events that it would change; redacted ones are none of them."""
        named = {"event_id": self.event_id} if self.event_id else {"session_id": self.session_id}
        rows = EpisodicEvent.objects.using(db).filter(scope=self.scope, redacted=0, **named)
        return rows.exclude(session_id=RUN_SESSION)  # counts alone, which verification needs


def count(agent: Agent, redaction: Redaction) -> int:
    """Return how many events a redaction would change."""
    return redaction.rows(agent.db).count()


def redact(agent: Agent, redaction: Redaction, *, by: str) -> int:
    """Redact events and return how many were changed.

    It is done in batches: after a kill, redacting again finishes the rest. Freed pages are overwritten.
    """
    if not (planned := count(agent, redaction)):
        return 0
    details = {"scope": redaction.scope, "count": planned, "replacement": redaction.replacement}
    name = redaction.event_id or redaction.session_id or ""
    changed, columns = 0, _build_columns(redaction)
    with erase(agent.db, BATCH_SIZE) as batch_size:
        # Before the first text is destroyed: a process that dies later has its entry.
        audit.record(by, "episodes_redacted", object_type="episode", object_id=name, agent_id=agent.agent_id, **details)
        while redacted := _redact_batch(agent.db, redaction, columns, batch_size):
            changed += redacted
    return changed


def _redact_batch(db, redaction, columns, batch_size):
    with write_queue.agent_transaction(db):
        ids = list(redaction.rows(db).order_by("id").values_list("id", flat=True)[:batch_size])
        if ids:
            EpisodicEvent.objects.using(db).filter(id__in=ids).update(**columns)
            append(db, [_build_event(redaction.scope, ids)])
    return len(ids)


def _build_event(scope, ids):
    """Build the event of a redaction: the numbers of its rows alone."""
    run_id = str(ULID())
    return NewEvent(
        event_id=f"redaction-{run_id}",
        ts_ms=clock.now_ms(),
        scope=scope,
        session_id=RUN_SESSION,
        agent_id=RUN_ACTOR,
        type=EpisodicEvent.Type.OPS_OBSERVATION.value,
        summary=f"Redaction removed the texts of {len(ids)} events",
        payload_json=encode({"redaction": run_id, "redacted_count": len(ids), "redacted_ids": ids}, is_sorted=True),
    )


def _build_columns(redaction) -> dict[str, Any]:
    payload = REPLACEMENTS[redaction.replacement]
    return {"redacted": 1, "summary": REDACTED, "payload_json": payload, "refs_json": None, "salt": None}
