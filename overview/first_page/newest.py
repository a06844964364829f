"""The newest sessions of all agents, kept small in the global file, so that the first page opens no agent's file."""

from django.db import transaction

from agents.models import Agent
from ledger.lists import last_words
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import speaker_of
from openclaw_web import clock

from ..models import NewestSession

SHOWN = 6
COLUMNS = (
    *("session_id", "last_activity_at", "title", "channel_id", "error_count", "has_parents", "words", "speaker"),
)


def refresh(agent: Agent) -> None:
    """Bring the newest sessions of an agent up to what its file holds; what is gone there goes here."""
    rows = Session.objects.using(agent.db).filter(last_activity_at__lte=clock.now_ms())
    sessions = list(rows.for_reading().order_by("-last_activity_at", "-id")[:SHOWN])
    words = last_words.of(agent.db, [session.id for session in sessions])
    newest = [_row(session, words.get(session.id)) for session in sessions]
    known = NewestSession.objects.filter(agent_id=agent.agent_id)
    if sorted(known.values_list(*COLUMNS)) == sorted(newest):
        return
    with transaction.atomic():
        known.delete()
        NewestSession.objects.bulk_create(
            NewestSession(agent_id=agent.agent_id, **dict(zip(COLUMNS, row, strict=True))) for row in newest
        )


def recent_sessions() -> list[NewestSession]:
    """The newest sessions of all agents, the last active first."""
    return list(NewestSession.objects.order_by("-last_activity_at", "agent_id", "session_id")[:SHOWN])


def _row(session, words):
    turn = words and ConversationTurn(user_from=words.user_from, user_metadata=words.user_metadata)
    about = (session.title, session.channel_id, session.error_count, bool(session.parents))
    return session.id, session.last_activity_at, *about, words.text if words else "", speaker_of(turn) if turn else ""
