"""Which turn a decision was made on, when nobody named it: by session key and time."""

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.models import ConversationTurn, Session

from ..models import MemoryGateDecision

Match = MemoryGateDecision.Match
NEAR_MS = 10_000  # between the end of a turn's reply and a decision on it
EXACT_MS = 600_000  # the same, when the reply is the same text
EARLY_MS = 2_000  # clocks and roundings: a decision that seems to be made before the reply
LOOKED_AT = 20  # turns of each session


@dataclass(frozen=True, slots=True)
class TurnMatch:
    """Where a decision belongs: a session, or only its key, and a turn, or None."""

    session_id: str
    turn_id: str | None
    match: Match


def match_turn(db: str, agent_id: str, keys: Iterable[str | None], at: int, reply: str | None) -> TurnMatch:
    """The place of a decision of the moment `at` (milliseconds) in a session of one of these keys."""
    known = [key for key in keys if key]
    sessions = find_session_ids(db, agent_id, known)
    rows = ConversationTurn.objects.using(db).filter(
        session_id__in=sessions, created_at__lte=at + EARLY_MS, created_at__gte=at - 6 * EXACT_MS, repeat_of=None
    )
    best: tuple[int, int, TurnMatch] | None = None
    columns = ("id", "session_id", "created_at", "latency_ms", "agent_message_content")
    for turn_id, session_id, asked_at, latency, said in rows.order_by("-created_at").values_list(*columns)[:LOOKED_AT]:
        away = abs(at - asked_at - (latency or 0))
        is_same = bool(reply and reply.strip() and reply.strip() == said.strip())
        if away > (EXACT_MS if is_same else NEAR_MS):
            continue
        found = TurnMatch(session_id, turn_id, Match.EXACT if is_same else Match.NEAR)
        if best is None or (not is_same, away) < best[:2]:
            best = (not is_same, away, found)
    if best:
        return best[2]
    return TurnMatch(_last(db, sessions, at) or (known[0] if known else "unknown"), None, Match.NONE)


def is_session_name(agent_id: str, name: str, session_id: str, session_key: str | None) -> bool:
    """Whether somebody who says `name` may mean this session: its id, its key, or the plugin's name for it."""
    return name == session_id or session_key in (name, *_spellings(agent_id, name))


def find_session_ids(db: str, agent_id: str, keys: Iterable[str]) -> list[str]:
    """Ids of the sessions that may be meant: their own id, their key, or the plugin's name for it."""
    names = {*keys, *(spelled for key in keys for spelled in _spellings(agent_id, key))}
    by_key = Session.objects.using(db).filter(session_key__in=names).values_list("id", flat=True)
    by_id = Session.objects.using(db).filter(id__in=keys).values_list("id", flat=True)
    return [*by_key, *by_id]


def _spellings(agent_id, key):
    """`channel:irc:group:#lab` is what the plugin calls `agent:main:irc:group:#lab`."""
    kind, _colon, rest = key.partition(":")
    return [f"agent:{agent_id}:{rest}"] if kind == "channel" and rest else []


def _last(db, sessions, at):
    """Of several sessions with one key, the one that was under way."""
    rows = Session.objects.using(db).filter(id__in=sessions, created_at__lte=at + EARLY_MS)
    return rows.order_by("-created_at").values_list("id", flat=True).first()
