"""Which stored windows may be sent today: those of which nobody who spoke has opted out by now.

A window is a text that was stored once. Who said its messages is looked up in the turns of the session: a message that
no turn up to the decision's has, nobody can tell who said, and the window stays here.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from ledger.models import ConversationTurn

from ..models import MemoryGateDecision
from ..recording import consent, windows
from ..recording.told import Match

SURE = (Match.GIVEN, Match.EXACT)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A decision with its turn, and what its window holds beside that turn."""

    id: str
    turn: ConversationTurn
    spoken: set[consent.Spoken]


def withheld(db: str, decisions: Collection[MemoryGateDecision]) -> set[str]:
    """Ids of those of these decisions whose windows may not be sent; none while nobody has opted out.

    Read of each are `turn_id`, `match` and `window_hash`.
    """
    if not consent.opted_out():
        return set()
    turns = ConversationTurn.objects.using(db).in_bulk([row.turn_id for row in decisions if row.turn_id])
    found, by_session = set(), defaultdict(list)
    for row in decisions:
        window = windows.read(db, row.window_hash)
        if (turn := turns.get(row.turn_id)) is None:
            found.add(row.id)
        elif window is not None:
            by_session[turn.session_id].append(_Asked(row.id, turn, _spoken(window, is_sure=row.match in SURE)))
    for session_id, some in by_session.items():
        found |= _withheld(db, session_id, some)
    return found


def _spoken(window, *, is_sure):
    """What a window holds; where its turn is sure, without the turn itself."""
    own = {(role, text) for role, text in (("user", window.user), ("agent", window.reply)) if text}
    recent = {(message["role"], message["message"]) for message in window.recent}
    return recent - own if is_sure else recent | own


def _withheld(db, session_id, some):
    last = max(one.turn.first_seq for one in some)
    turns = ConversationTurn.objects.using(db).filter(session_id=session_id, first_seq__lte=last)
    wanted = set().union(*(one.spoken for one in some))
    said = consent.spoken_in(turns.order_by("-first_seq")[: consent.LOOKED_AT + len(some)], wanted)
    involved, found = {}, set()
    for one in some:
        by = {spoken: [turn for turn in said[spoken] if turn.first_seq <= one.turn.first_seq] for spoken in one.spoken}
        if not all(by.values()):
            found.add(one.id)
        involved[one.id] = {one.turn.id} | {turn.id for turns in by.values() for turn in turns}
    all_turns = {turn.id: turn for turns in said.values() for turn in turns} | {one.turn.id: one.turn for one in some}
    asked = [all_turns[name] for name in set().union(*involved.values())]
    hidden = consent.withheld(db, asked)
    return found | {name for name, ids in involved.items() if not hidden.isdisjoint(ids)}
