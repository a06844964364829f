"""The newest sessions of all agents, kept small in the global file, so that the first page opens no agent's file."""

from django.db import transaction

from agents.models import Agent
from gate.recording import consent
from ledger.lists import last_words
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import speaker_key
from openclaw_web import clock

from ..models import NewestSession

SHOWN = 6
COLUMNS = (
    *("session_id", "last_activity_at", "title", "channel_id", "error_count", "has_parents", "words", "speaker"),
)
AT = COLUMNS.index("last_activity_at")
WORDS = tuple(COLUMNS.index(name) for name in ("title", "words", "speaker"))


def refresh(agent: Agent) -> None:
    """Bring the newest sessions of an agent up to what its file holds; what is gone there goes here."""
    newest = _newest(agent)
    if not _are_other(agent, newest):
        return
    with transaction.atomic():
        NewestSession.objects.filter(agent_id=agent.agent_id).delete()
        NewestSession.objects.bulk_create(
            NewestSession(agent_id=agent.agent_id, **dict(zip(COLUMNS, row, strict=True))) for row in newest
        )


def is_wrong(agent: Agent) -> bool:
    """Whether the newest sessions of an agent are not those of its file; forgotten words are no error."""
    now = clock.now_ms()
    stored, counted = (
        sorted((row for row in rows if row[AT] <= now), key=lambda row: (row[AT], row[0]))[-SHOWN:]
        for rows in (NewestSession.objects.filter(agent_id=agent.agent_id).values_list(*COLUMNS), _newest(agent))
    )
    if consent.opted_out() and not any(row[name] for row in stored for name in WORDS):
        stored, counted = ([_without_words(row) for row in rows] for rows in (stored, counted))
    return stored != counted


def forget_words() -> None:
    """Forget who said what: somebody may have opted out. The next import finds what may be shown."""
    NewestSession.objects.update(title="", words="", speaker="")


def recent_sessions() -> list[NewestSession]:
    """The newest sessions of all agents, the last active first."""
    rows = NewestSession.objects.filter(last_activity_at__lte=clock.now_ms())
    return list(rows.order_by("-last_activity_at", "agent_id", "session_id")[:SHOWN])


def _newest(agent):
    """The newest sessions, and the next ones of a clock that runs ahead, whose time will come."""
    now, rows = clock.now_ms(), Session.objects.using(agent.db).for_reading()
    sessions = [
        *rows.filter(last_activity_at__gt=now).order_by("last_activity_at", "id")[:SHOWN],
        *rows.filter(last_activity_at__lte=now).order_by("-last_activity_at", "-id")[:SHOWN],
    ]
    names = [session.id for session in sessions]
    words, hidden = last_words.of(agent.db, names), _withheld(agent.db, names)
    return [_row(session, words.get(session.id), session.id in hidden) for session in sessions]


def _are_other(agent, newest):
    known = NewestSession.objects.filter(agent_id=agent.agent_id)
    return sorted(known.values_list(*COLUMNS)) != sorted(newest)


def _without_words(row):
    return tuple("" if place in WORDS else value for place, value in enumerate(row))


def _withheld(db, session_ids):
    """The sessions whose last turn may not be quoted today."""
    if not consent.opted_out():
        return set()
    turns = ConversationTurn.objects.using(db).filter(is_active=True).order_by("-turn_number")
    last = [turn for name in session_ids if (turn := turns.filter(session_id=name).first())]
    hidden = consent.withheld(db, last)
    return {turn.session_id for turn in last if turn.id in hidden}


def _row(session, words, is_hidden):
    about = (session.channel_id, session.error_count, bool(session.parents))
    if is_hidden:
        return session.id, session.last_activity_at, "", *about, "", ""
    turn = words and ConversationTurn(user_from=words.user_from, user_metadata=words.user_metadata)
    said = (words.text, speaker_key(turn)) if words and turn else ("", "")
    return session.id, session.last_activity_at, session.title, *about, *said
