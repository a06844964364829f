"""The lines of memory files that come from people who opted out, so that an operator can take them out."""

from collections.abc import Collection
from dataclasses import dataclass, field

from agents.models import Agent
from gate.recording import consent
from ledger.models import ConversationTurn

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from .blaming import blame_of

MOST = 100  # writes in one answer, of each kind
CHUNK = 200
Lines = list[tuple[str, int, str]]  # file, number, text without its ending


@dataclass(frozen=True, slots=True)
class Left:
    """A write with the lines that the memory files still have from it, and its turn if that is known."""

    audit: WriteGuardianAudit
    turn: ConversationTurn | None
    lines: Lines


@dataclass(slots=True)
class Found:
    """What memory files hold while somebody has opted out, newest writes first.

    `theirs` may not be used: somebody who opted out said it, or it cannot be told who did. `unknown` are writes
    without a turn; `without_write` counts the lines of each file to which no write leads. Blank lines are nobody's.
    """

    is_asked: bool  # whether anybody has opted out
    theirs: list[Left] = field(default_factory=list)
    unknown: list[Left] = field(default_factory=list)
    without_write: dict[str, int] = field(default_factory=dict)
    line_count: int = 0  # of all of `theirs`
    more: int = 0  # writes beyond the first MOST of each kind


def lines_of_people(agent: Agent) -> Found:
    """The lines of an agent's memory files that come from people who opted out; nothing while nobody has."""
    if not consent.opted_out():
        return Found(is_asked=False)
    found = Found(is_asked=True)
    by_write = _by_write(agent, found)
    rows = WriteGuardianAudit.objects.using(agent.db).placed().defer("diff", "hunks_json").in_bulk(by_write)
    turns, hidden = _turns(agent.db, {row.turn_id for row in rows.values() if row.turn_id})
    newest_first = sorted(rows.values(), key=lambda row: (row.created_at, row.place), reverse=True)
    for row in newest_first:
        # What a rollback merged back somebody else had said, and not the turn of the write that it took back.
        turn = None if row.origin == WriteGuardianAudit.Origin.ROLLBACK else turns.get(row.turn_id)
        left = Left(row, turn, by_write[row.id])
        if left.turn is None:
            found.unknown.append(left)
        elif left.turn.id in hidden:
            found.theirs.append(left)
    found.line_count = len({line for one in found.theirs for line in one.lines})
    found.more = sum(max(0, len(kind) - MOST) for kind in (found.theirs, found.unknown))
    del found.theirs[MOST:], found.unknown[MOST:]
    return found


def _by_write(agent, found) -> dict[str, Lines]:
    """The lines of all memory files by the write that put them there; those without one are counted in `found`.

    Where several writes share one diff, its lines may be of any of them, and each has them.
    """
    by_write: dict[str, Lines] = {}
    for name in MEMORY_FILES:
        blamed = blame_of(agent, name)
        for line in blamed.lines if blamed else ():
            if not line.text.strip():
                continue
            if line.audit_id:
                by_write.setdefault(line.audit_id, []).append((name, line.number, line.text.rstrip("\r\n")))
            else:
                found.without_write[name] = found.without_write.get(name, 0) + 1
        for one, standing in blamed.shared.items() if blamed else ():
            if standing in by_write:
                by_write[one] = by_write[standing]
    return by_write


def _turns(db, ids: Collection[str]) -> tuple[dict[str, ConversationTurn], set[str]]:
    """Turns by id, and the ids of those whose words may not be used."""
    turns, hidden, wanted = {}, set(), sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        part = ConversationTurn.objects.using(db).in_bulk(wanted[start : start + CHUNK])
        turns |= part
        hidden |= consent.withheld(db, list(part.values()))
    return turns, hidden
