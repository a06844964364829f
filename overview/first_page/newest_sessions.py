"""The newest sessions of all agents, copied into the global file.

The first page so opens no agent's file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Model

from agents.models import Agent
from ledger import consent
from ledger.lists import last_words
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import get_speaker_key
from openclaw_web import clock

from ..models import NewestSession
from ..span_sums import AHEAD_MS

Row = tuple[Any, ...]
SHOWN = 6
TITLE_TURNS = 20  # of these first turns, one of a person gave the session its title
COLUMNS = (
    *("session_id", "last_activity_at", "title", "channel_id", "error_count", "has_parents", "words", "speaker"),
)
AT = COLUMNS.index("last_activity_at")
WORDS = tuple(COLUMNS.index(name) for name in ("title", "words", "speaker"))


def refresh(agent: Agent) -> None:
    """Refresh the newest sessions of an agent from its file."""
    replace_rows(NewestSession, COLUMNS, agent, _read_newest)


def replace_rows(model: type[Model], columns: Sequence[str], agent: Agent, read: Callable[[Agent], list[Row]]) -> None:
    """Replace the rows of an agent by those that `read` returns from its file."""
    senders, newest = consent.read_opted_out(), read(agent)
    stored = model._default_manager.filter(agent_id=agent.agent_id)
    if sorted(stored.values_list(*columns)) == sorted(newest):
        return
    with transaction.atomic():
        if consent.read_opted_out() != senders:  # somebody opted out meanwhile: the next import reads it again
            return
        stored.delete()
        model._default_manager.bulk_create(
            model(agent_id=agent.agent_id, **dict(zip(columns, row, strict=True))) for row in newest
        )


def is_wrong(agent: Agent) -> bool:
    """Return whether the newest sessions of an agent differ from its file.

    Removed words are no error.
    """
    stored = take_last_rows(NewestSession.objects.filter(agent_id=agent.agent_id).values_list(*COLUMNS), AT, SHOWN)
    counted = take_last_rows(_read_newest(agent), AT, SHOWN)
    if consent.read_opted_out() and not any(row[name] for row in stored for name in WORDS):
        stored, counted = ([_without_words(row) for row in rows] for rows in (stored, counted))
    return stored != counted


def take_last_rows(rows: Iterable[Row], at: int, count: int) -> list[Row]:
    """Return the last rows whose time has come, oldest first.

    `at` is the position of the time in a row, the id comes first.
    """
    now = clock.now_ms()
    return sorted((row for row in rows if row[at] <= now), key=lambda row: (row[at], row[0]))[-count:]


def forget_words() -> None:
    """Remove the words of people, since somebody may have opted out.

    The next import finds what may be shown.
    """
    NewestSession.objects.update(title="", words="", speaker="")


def read_newest_sessions(**whose: str) -> list[NewestSession]:
    """Read the newest sessions of all agents, or of one `agent_id`, the last active first."""
    rows = NewestSession.objects.filter(last_activity_at__lte=clock.now_ms(), **whose)
    return list(rows.order_by("-last_activity_at", "agent_id", "session_id")[:SHOWN])


def _read_newest(agent):
    """Read the newest sessions of a file, and the next ones of a fast clock."""
    now, rows = clock.now_ms(), Session.objects.using(agent.db).for_reading()
    ahead = rows.filter(last_activity_at__gt=now, last_activity_at__lte=now + AHEAD_MS)
    past = rows.filter(last_activity_at__lte=now)
    sessions = [*ahead.order_by("last_activity_at", "id")[:SHOWN], *past.order_by("-last_activity_at", "-id")[:SHOWN]]
    names = [session.id for session in sessions]
    words = last_words.read_last_words(agent.db, names)
    titles, replies = _find_withheld(agent.db, names)
    return [
        _build_row(session, words.get(session.id), hides_title=session.id in titles, hides_words=session.id in replies)
        for session in sessions
    ]


def _without_words(row):
    return tuple("" if place in WORDS else value for place, value in enumerate(row))


def _find_withheld(db, session_ids):
    """Return the sessions whose title, and those whose last words, may not be quoted today."""
    if not consent.read_opted_out():
        return set(), set()
    first, last = [], []
    for name in session_ids:
        turns = ConversationTurn.objects.using(db).filter(session_id=name, is_active=True)
        first += sorted(turns.order_by("turn_number")[:TITLE_TURNS], key=lambda turn: "injected" in turn.sender)[:1]
        last += turns.order_by("-turn_number")[:1]
    hidden = consent.find_withheld(db, [*first, *last])
    return tuple({turn.session_id for turn in turns if turn.id in hidden} for turns in (first, last))


def _build_row(session, words, *, hides_title, hides_words):
    title = "" if hides_title else session.title
    columns = (
        session.id,
        session.last_activity_at,
        title,
        session.channel_id,
        session.error_count,
        bool(session.parents),
    )
    if hides_words or not words:
        return *columns, "", ""
    turn = ConversationTurn(user_from=words.user_from, user_metadata=words.user_metadata)
    return *columns, words.text, get_speaker_key(turn)
