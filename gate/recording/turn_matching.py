"""Finds the turn that a decision was made on, by session key and time.

For decisions whose source did not name the turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from ledger.models import ConversationTurn, Session
from ledger.transcripts.reported_turns import PREFIX, find_turns, list_spellings

from ..models import MemoryGateDecision

Match = MemoryGateDecision.Match
NEAR_MS = 10_000  # between the end of a turn's reply and a decision on it
EXACT_MS = 600_000  # the same where the reply has the same text
EARLY_MS = 2_000  # tolerance for clocks and rounding: a decision may seem to be made before the reply
MAX_TURNS = 20  # turns that are compared with a decision


@dataclass(frozen=True, slots=True)
class TurnMatch:
    """The session and turn that a decision belongs to.

    `session_id` is the key of the session where no session was found. `turn_id` is None where no turn was found.
    """

    session_id: str
    turn_id: str | None
    match: Match


def find_named(db: str, session: str | None, turn: str | None) -> TurnMatch | None:
    """Return the turn that a source names, as `reported_turns.find_turns` finds it; None where there is none."""
    named_turn = find_turns(db, [(session, turn)]).get((session, turn))
    return TurnMatch(named_turn.session_id, named_turn.id, Match.GIVEN) if named_turn else None


def is_joined() -> Q:
    """Return the condition of rows with a turn of the plugin that a transcript has as well."""
    turns = ConversationTurn.objects.filter(id=OuterRef("turn_id"), repeat_of__isnull=False)
    return Q(Exists(turns), turn_id__gt=PREFIX, turn_id__lt=f"{PREFIX}~")  # a range of the index


def match_turn(db: str, agent_id: str, keys: Iterable[str | None], at: int, reply: str | None) -> TurnMatch:
    """Return the turn of a decision made at `at` in one of these sessions.

    `at` is in milliseconds, `keys` are names of the session. `reply` is the text that the decision was made on: a turn
    with the same reply goes before a nearer one.
    """
    known = [key for key in keys if key]
    sessions = find_session_ids(db, agent_id, known)
    rows = ConversationTurn.objects.using(db).filter(
        session_id__in=sessions, created_at__lte=at + EARLY_MS, created_at__gte=at - 6 * EXACT_MS, repeat_of=None
    )
    best: tuple[int, int, TurnMatch] | None = None
    columns = ("id", "session_id", "created_at", "latency_ms", "agent_message_content")
    for turn_id, session_id, asked_at, latency, reply_text in rows.order_by("-created_at").values_list(*columns)[
        :MAX_TURNS
    ]:
        distance_ms = abs(at - asked_at - (latency or 0))
        is_same = bool(reply and reply.strip() and reply.strip() == reply_text.strip())
        if distance_ms > (EXACT_MS if is_same else NEAR_MS):
            continue
        match = TurnMatch(session_id, turn_id, Match.EXACT if is_same else Match.NEAR)
        if best is None or (not is_same, distance_ms) < best[:2]:
            best = (not is_same, distance_ms, match)
    if best:
        return best[2]
    return TurnMatch(_find_latest_session(db, sessions, at) or (known[0] if known else "unknown"), None, Match.NONE)


def is_session_name(agent_id: str, name: str, session_id: str, session_key: str | None) -> bool:
    """Return whether `name` may mean this session.

    It may be the session's id, its key, or the plugin's name for it.
    """
    return name == session_id or session_key in (name, *list_spellings(agent_id, name))


def find_session_ids(db: str, agent_id: str, keys: Iterable[str]) -> list[str]:
    """Return ids of the sessions that these keys may mean.

    A key may be a session's id, its key, or the plugin's name for it.
    """
    names = {*keys, *(spelled for key in keys for spelled in list_spellings(agent_id, key))}
    by_key = Session.objects.using(db).filter(session_key__in=names).values_list("id", flat=True)
    by_id = Session.objects.using(db).filter(id__in=keys).values_list("id", flat=True)
    return [*by_key, *by_id]


def _find_latest_session(db, sessions, at):
    """Return the latest of these sessions that had begun by then.

    Several sessions may have one key; this one was active.
    """
    rows = Session.objects.using(db).filter(id__in=sessions, created_at__lte=at + EARLY_MS)
    return rows.order_by("-created_at").values_list("id", flat=True).first()
