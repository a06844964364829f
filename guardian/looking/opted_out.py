"""The lines of memory files that come from people who opted out, so that an operator can take them out."""

from dataclasses import dataclass, field

from agents.models import Agent
from gate.recording import consent
from ledger.models import ConversationTurn

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from . import usable
from .blaming import blame_of

MOST = 100  # writes in one answer, of each kind
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
    known = usable.behind(agent.db, by_write)
    newest_first = sorted(known.audits.values(), key=lambda row: (row.created_at, row.place), reverse=True)
    for row in newest_first:
        left = Left(row, known.turn_of(row), by_write[row.id])
        if left.turn is None:
            found.unknown.append(left)
        elif not known.is_usable(row.id):
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
        if blamed is None:
            continue
        writes = usable.writes_of(blamed)
        for line in blamed.lines:
            if not line.text.strip():
                continue
            if not line.audit_id:
                found.without_write[name] = found.without_write.get(name, 0) + 1
            for one in writes.get(line.audit_id, ()):
                by_write.setdefault(one, []).append((name, line.number, line.text.rstrip("\r\n")))
    return by_write
