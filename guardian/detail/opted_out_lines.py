"""Whose lines a memory file holds: those that may not be used while somebody has opted out, and who may take them out.

A line leads to the write that put it there, and a write to the turn in which its words were said.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from .line_blame import Blame, blame_file

MOST = 100  # writes in one answer, of each kind
Lines = list[tuple[str, int, str]]  # file, number, text without its ending


@dataclass(frozen=True, slots=True)
class WriteLines:
    """A write with the lines that the memory files still have from it, and its turn if that is known."""

    audit: WriteGuardianAudit
    turn: ConversationTurn | None
    lines: Lines


@dataclass(slots=True)
class OptedOutLines:
    """What memory files hold while somebody has opted out, newest writes first.

    `theirs` may not be used: somebody who opted out said it, or it cannot be told who did. `unknown` are writes
    without a turn; `without_write` counts the lines of each file to which no write leads. Blank lines are nobody's.
    """

    is_asked: bool  # whether anybody has opted out
    theirs: list[WriteLines] = field(default_factory=list)
    unknown: list[WriteLines] = field(default_factory=list)
    without_write: dict[str, int] = field(default_factory=dict)
    line_count: int = 0  # of all of `theirs`
    more: int = 0  # writes beyond the first MOST of each kind


def find_opted_out_lines(agent: Agent) -> OptedOutLines:
    """The lines of an agent's memory files that come from people who opted out; nothing while nobody has."""
    if not consent.read_opted_out():
        return OptedOutLines(is_asked=False)
    found = OptedOutLines(is_asked=True)
    by_write = _by_write(agent, found)
    audits = _audits(agent.db, by_write)
    turn_ids = _turn_ids(audits)
    hidden = consent.find_withheld_keys(agent.db, turn_ids.values())
    turns = ConversationTurn.objects.using(agent.db).in_bulk([name for name in turn_ids.values() if name])
    for row in sorted(audits, key=lambda row: (row.created_at, row.place), reverse=True):
        left = WriteLines(row, turns.get(turn_ids[row.id]), by_write[row.id])
        if left.turn is None:
            found.unknown.append(left)
        elif left.turn.id in hidden:
            found.theirs.append(left)
    found.line_count = len({line for one in found.theirs for line in one.lines})
    found.more = sum(max(0, len(kind) - MOST) for kind in (found.theirs, found.unknown))
    del found.theirs[MOST:], found.unknown[MOST:]
    return found


def has_withheld_lines(db: str, versions: Iterable[Blame | None]) -> bool:
    """Whether one of these versions has a line that leads to no turn whose words may be used; not while nobody has.

    A line of one of several writes may be used when each of them leads to such a turn. Blank lines are nobody's.
    """
    return bool(consent.read_opted_out()) and any(_has_withheld_lines(db, blamed) for blamed in versions if blamed)


def _has_withheld_lines(db, blamed):
    writes = _writes_of(blamed)
    turn_ids = _turn_ids(_audits(db, [one for some in writes.values() for one in some]))
    hidden = consent.find_withheld_keys(db, {*turn_ids.values(), None})
    usable = {name for name, some in writes.items() if all(turn_ids.get(one) not in hidden for one in some)}
    return any(line.text.strip() and line.audit_id not in usable for line in blamed.lines)


def _audits(db, audit_ids: Collection[str]) -> list[WriteGuardianAudit]:
    return list(WriteGuardianAudit.objects.using(db).placed().defer("diff", "hunks_json").in_bulk(audit_ids).values())


def _turn_ids(audits) -> dict[str, str | None]:
    """By each write the turn in which its lines were said; None where nobody knows.

    What a person chose or typed during a rollback was said in no turn, least of all in that of the write that it took
    back.
    """
    rollback = WriteGuardianAudit.Origin.ROLLBACK
    return {row.id: None if row.origin == rollback else row.turn_id for row in audits}


def _writes_of(blamed) -> dict[str, list[str]]:
    """By each write that lines lead to, every write that they may be of: several share one diff."""
    writes = {line.audit_id: [line.audit_id] for line in blamed.lines if line.audit_id and line.text.strip()}
    for shared, standing in blamed.shared.items():
        if standing in writes:
            writes[standing].append(shared)
    return writes


def _by_write(agent, found) -> dict[str, Lines]:
    """The lines of all memory files by the write that put them there; those without one are counted in `found`.

    Where several writes share one diff, its lines may be of any of them, and each has them.
    """
    by_write: dict[str, Lines] = {}
    for name in MEMORY_FILES:
        blamed = blame_file(agent, name)
        if blamed is None:
            continue
        writes = _writes_of(blamed)
        for line in blamed.lines:
            if not line.text.strip():
                continue
            if not line.audit_id:
                found.without_write[name] = found.without_write.get(name, 0) + 1
            for one in writes.get(line.audit_id, ()):
                by_write.setdefault(one, []).append((name, line.number, line.text.rstrip("\r\n")))
    return by_write
