"""Selects old sessions, and finds the evidence that still needs some of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy

from agents import holdings
from agents import services as agents
from agents.models import Agent
from artifacts.models import Artifact
from datasets.models import DatasetSample
from gate.checks import TURN, WINDOW
from ledger.checkpoints import pack
from ledger.models import ConversationContext, ConversationTurn, Session
from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.sqlite.integrity import Reference

from ..artifact_gc import mentions

PAGE = 500
DAY_MS = 86_400_000
CONTEXT = Reference(ConversationContext, "turn_id", ConversationTurn)
SAMPLES, CONTEXTS, CHECKPOINTS, MENTIONS = "samples", "contexts", "checkpoints", "mentions"

REASON_WORDS = {
    SAMPLES: gettext_lazy("used by samples"),
    CONTEXTS: gettext_lazy("used as context of evidence"),
    CHECKPOINTS: gettext_lazy("part of checkpoints"),
    MENTIONS: gettext_lazy("outputs mentioned by samples, memory files or scheduled tasks"),
}


@dataclass(slots=True)
class OldSessionCounts:
    """Counts of an agent's old sessions: removable ones, and kept ones by reason."""

    sessions: int = 0
    records: int = 0
    turns: int = 0
    oldest: int | None = None  # milliseconds
    kept_counts: Counter[str] = field(default_factory=Counter)

    def add(self, session: Session) -> None:
        """Count a session that can be removed."""
        self.sessions += 1
        self.records += session.record_count
        self.turns += session.turn_count
        moment = clock.clamp(session.last_activity_at)
        self.oldest = min(self.oldest or moment, moment)


def days_ago(days: int) -> int:
    """The beginning of the UTC day that many days ago, in milliseconds.

    A count and a removal on one day therefore select the same sessions.
    """
    return (clock.now_ms() // DAY_MS - days) * DAY_MS


def find_databases(agent_id: str | None = None) -> dict[str, str]:
    """The aliases of the requested agents, by agent.

    Raises Refused for an agent that does not exist or has another schema.
    """
    if agent_id:
        return {agent_id: agents.get(agent_id).db}
    names = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
    return {name: agents.get_alias(name) for name in names}


def find_old_sessions(agent_id: str, db: str, before: int) -> Iterator[tuple[Session, str]]:
    """Yield sessions without activity since `before` (milliseconds), oldest first, with the evidence that needs each.

    The evidence is one of SAMPLES, CONTEXTS, CHECKPOINTS and MENTIONS, or "". A session without a known time is not
    old; one whose last record lies in the future is as old as its import.
    """
    yield from _find_future_sessions(agent_id, db, before)
    rows = Session.objects.using(db).filter(last_activity_at__gt=0, last_activity_at__lt=before)
    rows = rows.only("id", "last_activity_at", "record_count", "turn_count").order_by("last_activity_at", "id")
    page = list(rows[:PAGE])
    mentioned = mentions.find_in_evidence(db) if page else set()
    while page:
        ids = [session.id for session in page]
        needed = _find_with_mentions(db, ids, mentioned) | _find_evidence(agent_id, db, ids)
        yield from ((session, needed.get(session.id, "")) for session in page)
        last = page[-1]
        later = rows.filter(last_activity_at__gte=last.last_activity_at)
        page = list(later.exclude(last_activity_at=last.last_activity_at, id__lte=last.id)[:PAGE])


def _find_future_sessions(agent_id, db, before):
    """The same for sessions whose last record lies in the future."""
    rows = Session.objects.using(db).filter(last_activity_at__gt=clock.now_ms()).order_by("last_activity_at", "id")
    ids = list(rows.values_list("id", flat=True))
    mentioned = mentions.find_in_evidence(db) if ids else set()
    for batch in in_batches(ids, PAGE):
        imported = holdings.read_noted_times(agent_id, batch)
        old_ids = [session_id for session_id, moment in imported.items() if moment < before]
        needed = _find_with_mentions(db, old_ids, mentioned) | _find_evidence(agent_id, db, old_ids)
        page = rows.filter(id__in=old_ids).only("id", "last_activity_at", "record_count", "turn_count")
        yield from ((session, needed.get(session.id, "")) for session in list(page))


def count_old_sessions(agent_id: str, db: str, before: int) -> OldSessionCounts:
    """Count the old sessions of an agent."""
    counts = OldSessionCounts()
    for session, needed in find_old_sessions(agent_id, db, before):
        if needed:
            counts.kept_counts[needed] += 1
        else:
            counts.add(session)
    return counts


def find_evidence(agent_id: str, db: str, session_id: str) -> str:
    """The evidence that needs a session now: SAMPLES, CONTEXTS, CHECKPOINTS, or ""."""
    return _find_evidence(agent_id, db, [session_id]).get(session_id, "")


# A new table with evidence that needs its session gets a line here. Decisions of memory_gate do not need it: they have
# their own window (docs/decisions/0024).
def _find_evidence(agent_id, db, session_ids):
    samples = DatasetSample.objects.filter(agent_id=agent_id, session_id__in=session_ids)
    packs = Artifact.objects.using(db).filter(session_id__in=session_ids, kind=pack.KIND)
    evidence = dict.fromkeys(packs.values_list("session_id", flat=True).distinct(), CHECKPOINTS)
    # Sessions with messages that are evidence of something other than a decision.
    turns = ConversationTurn.objects.using(db).filter(CONTEXT.has_referrers(db), session_id__in=session_ids)
    turns = turns.exclude(TURN.has_referrers(db, WINDOW.has_target(db)))
    evidence |= dict.fromkeys(turns.order_by().values_list("session_id", flat=True).distinct(), CONTEXTS)
    return evidence | dict.fromkeys(samples.values_list("session_id", flat=True).distinct(), SAMPLES)


# Sessions with an output that a text names by its handle: a sample, a memory file, a scheduled prompt.
def _find_with_mentions(db, session_ids, mentioned):
    if not mentioned:
        return {}
    uses = Artifact.objects.using(db).filter(session_id__in=session_ids).values_list("session_id", "handle")
    return {session_id: MENTIONS for session_id, handle in uses.iterator() if handle[-64:] in mentioned}
