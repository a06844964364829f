"""Which decisions a replay is about: those that fit, whose windows are stored, and may be sent."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agents.models import Agent

from ..lists.decision_list import DECISIONS
from ..models import GateWindow, MemoryGateDecision
from ..recording import windows
from .replay_request import ReplayRequest

PIECE = 200
READ = ("id", "turn_id", "session_id", "window_hash", "decision", "match", "created_at")


@dataclass(slots=True)
class DecisionSelection:
    """Decisions, the newest first; how many more have no window that is stored, or are withheld."""

    rows: list[MemoryGateDecision] = field(default_factory=list)
    skipped: int = 0
    withheld: int = 0


def select_decisions(agent: Agent, wanted: ReplayRequest) -> DecisionSelection:
    """The decisions that are to be made again. Raises Refused for filters that cannot be."""
    chosen = DecisionSelection()
    for piece in _pieces(agent, wanted):
        there = _stored(agent.db, piece)
        hidden = windows.find_withheld(agent.db, [row for row in piece if row.window_hash in there])
        for row in piece:
            if row.window_hash not in there:
                chosen.skipped += 1
            elif row.id in hidden:
                chosen.withheld += 1
            else:
                chosen.rows.append(row)
            if len(chosen.rows) == wanted.limit:
                return chosen
    return chosen


def _pieces(agent, wanted) -> Iterator[list[MemoryGateDecision]]:
    found = DECISIONS.fits(agent, **wanted.filters)
    found = replace(found, rows=found.rows.only(*READ))
    ids = wanted.among(agent)
    if ids is None:
        after = None
        while True:
            page = found.page(after=after, size=PIECE)
            if page:
                yield page
            after = page.next
            if after is None:
                return
    listed = sorted(ids)
    rows = [row for at in range(0, len(listed), PIECE) for row in found.all.filter(id__in=listed[at : at + PIECE])]
    rows.sort(key=lambda row: (row.created_at, row.place), reverse=True)
    for at in range(0, len(rows), PIECE):
        yield rows[at : at + PIECE]


def _stored(db, rows):
    hashes = {row.window_hash for row in rows if row.window_hash}
    return set(GateWindow.objects.using(db).filter(hash__in=hashes).values_list("hash", flat=True))
