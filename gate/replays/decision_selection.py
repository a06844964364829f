"""Selects the decisions of a replay.

They fit the filters, their windows are stored, and they may be sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agents.models import Agent
from openclaw_web.batches import in_batches

from ..lists.decision_list import DECISIONS
from ..models import GateWindow, MemoryGateDecision
from ..recording import windows
from .replay_request import ReplayRequest

PIECE = 200
READ = ("id", "turn_id", "session_id", "window_hash", "decision", "match", "created_at")


@dataclass(slots=True)
class DecisionSelection:
    """Selected decisions, the newest first, and counts of those left out.

    `skipped` decisions have no stored window, `withheld` ones may not be sent.
    """

    rows: list[MemoryGateDecision] = field(default_factory=list)
    skipped: int = 0
    withheld: int = 0


def select_decisions(agent: Agent, request: ReplayRequest) -> DecisionSelection:
    """Return the decisions to replay. Raises Refused for filters that are not valid."""
    selection = DecisionSelection()
    for batch in _read_batches(agent, request):
        hashes = {row.window_hash for row in batch if row.window_hash}
        rows = GateWindow.objects.using(agent.db).filter(hash__in=hashes)
        stored_hashes = set(rows.values_list("hash", flat=True))
        hidden = windows.find_withheld(agent.db, [row for row in batch if row.window_hash in stored_hashes])
        for row in batch:
            if row.window_hash not in stored_hashes:
                selection.skipped += 1
            elif row.id in hidden:
                selection.withheld += 1
            else:
                selection.rows.append(row)
            if len(selection.rows) == request.limit:
                return selection
    return selection


def _read_batches(agent, request) -> Iterator[list[MemoryGateDecision]]:
    listing = DECISIONS.fits(agent, **request.filters)
    listing = replace(listing, rows=listing.rows.only(*READ))
    ids = request.find_allowed_ids(agent)
    if ids is None:
        after = None
        while True:
            page = listing.page(after=after, size=PIECE)
            if page:
                yield page
            after = page.next
            if after is None:
                return
    rows = [row for batch in in_batches(sorted(ids), PIECE) for row in listing.all.filter(id__in=batch)]
    rows.sort(key=lambda row: (row.created_at, row.place), reverse=True)
    yield from in_batches(rows, PIECE)
