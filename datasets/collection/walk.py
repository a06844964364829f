"""The turns that a run looks at: all of an agent, some of them, or those that are new, grew or have new evidence."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Max, QuerySet

from agents import visits
from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian.models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from ledger.models import ConversationTurn, TranscriptEvent
from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.sqlite.fields import RowId
from people.models.bookkeeping import KeyValue

from ..models import TurnOutcome

BATCH = 500
ROWS = 5_000  # of a table, of which the turns or sessions are in memory
SCOPE = "collecting"  # of what is noted of each agent: the state of its file, and the last row of each table
COLUMNS = (
    *("id", "session_id", "turn_number", "created_at", "is_active", "repeat_of", "first_seq", "last_seq"),
    *("user_message_id", "agent_message_id", "user_metadata", "agent_metadata", "answer_state"),
)
# Tables whose new rows are evidence about a turn, with the path to the id of the turn.
EVIDENCE = {
    "decisions": (MemoryGateDecision, "turn_id"),
    "writes": (WriteGuardianAudit, "turn_id"),
    "statuses": (GuardianStatus, "audit__turn_id"),
    "rollbacks": (Rollback, "audit__turn_id"),
    "corrections": (BehaviorCorrection, "audit__turn_id"),
}
RECORDS = "records"


def compute_mark(turn: ConversationTurn) -> int:
    """A number that differs once a turn has grown, or has left or joined the active branch."""
    return turn.last_seq * 4 + 2 * bool(turn.repeat_of) + turn.is_active


def read_turns(
    agent: Agent, session_id: str = "", since: int | None = None, until: int | None = None
) -> Iterator[list]:
    """All turns of an agent, of one session, or of a time, in the order of their sessions."""
    chosen = ConversationTurn.objects.using(agent.db).only(*COLUMNS).order_by("session_id", "turn_number")
    chosen = chosen.filter(session_id=session_id) if session_id else chosen
    chosen = chosen.filter(created_at__gte=since) if since is not None else chosen
    chosen = chosen.filter(created_at__lt=until) if until is not None else chosen
    page = list(chosen[:BATCH])
    while page:
        yield page
        last = page[-1]
        rest = chosen.filter(session_id__gte=last.session_id)
        page = list(rest.exclude(session_id=last.session_id, turn_number__lte=last.turn_number)[:BATCH])


def read_new(agent: Agent, noted: dict[str, Any], age_days: int, now: int) -> Iterator[list]:
    """The turns that are new or grew since `noted`, that have new evidence, or whose days are over.

    Some may come twice.
    """
    for session_id in _find_touched(agent.db, TranscriptEvent, "session_id", noted[RECORDS]):
        for page in read_turns(agent, session_id):
            rows = TurnOutcome.objects.filter(agent_id=agent.agent_id, turn_id__in=[turn.id for turn in page])
            marks = dict(rows.values_list("turn_id", "mark"))
            yield [turn for turn in page if marks.get(turn.id) != compute_mark(turn)]
    for name, (model, path) in EVIDENCE.items():
        yield from _read_by_id(agent, _find_touched(agent.db, model, path, noted[name]))
    due = find_due(age_days, now).filter(agent_id=agent.agent_id).order_by("at").values_list("turn_id", flat=True)
    yield from _read_by_id(agent, due.iterator(chunk_size=BATCH))


def find_due(age_days: int, now: int) -> QuerySet[TurnOutcome]:
    """The outcomes of turns that waited until a write was some days old."""
    rows = TurnOutcome.objects.filter(outcome=TurnOutcome.Outcome.WAITING)
    return rows.filter(at__lte=now - age_days * clock.DAY_MS)


def _find_touched(db, model, path, position) -> Iterator[str]:
    """The values of a path in the rows that arrived after a position; one may come again after many rows."""
    rows = model.objects.using(db).annotate(place=RowId()).order_by("place")
    while page := list(rows.filter(place__gt=position).values_list("place", path)[:ROWS]):
        position = page[-1][0]
        yield from dict.fromkeys(value for _place, value in page if value)


def _read_by_id(agent, turn_ids: Iterable[str]) -> Iterator[list]:
    for ids in in_batches(turn_ids, BATCH):
        turns = ConversationTurn.objects.using(agent.db).only(*COLUMNS).filter(id__in=ids)
        yield list(turns.order_by("session_id", "turn_number"))


def read_state(agent: Agent) -> dict[str, Any]:
    """The position to note of an agent once a run has covered everything stored now."""
    models = {RECORDS: TranscriptEvent} | {name: model for name, (model, _path) in EVIDENCE.items()}
    places = {
        name: model.objects.using(agent.db).annotate(place=RowId()).aggregate(last=Max("place"))["last"] or 0
        for name, model in models.items()
    }
    return places | {"file": visits.read_state(agent.agent_id)}


def is_replaced(noted: dict[str, Any], state: dict[str, Any]) -> bool:
    """Whether rows that were looked at are gone, so that others may have their numbers."""
    return any(state[name] < noted.get(name, 0) for name in (RECORDS, *EVIDENCE))


def read_noted(agent_id: str) -> dict[str, Any] | None:
    row = KeyValue.objects.filter(scope=SCOPE, key=agent_id).first()
    return row.value if row and isinstance(row.value, dict) else None


def note(agent_id: str, state: dict[str, Any]) -> None:
    KeyValue.objects.put(SCOPE, agent_id, state)
