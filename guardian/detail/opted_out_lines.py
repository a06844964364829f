"""Finds lines of memory files that come from people who opted out.

A line leads to the write that added it, and a write to the turn in which its words were said. Such lines may not be
used; rollbacks can remove them.
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
    """A write with its lines that memory files still have, and its turn if known."""

    audit: WriteGuardianAudit
    turn: ConversationTurn | None
    lines: Lines


@dataclass(slots=True)
class OptedOutLines:
    """The lines of memory files that matter while somebody has opted out, newest writes first.

    `theirs` may not be used: somebody who opted out said it, or it is not known who did. `unknown` are writes without a
    turn; `without_write` counts the lines of each file to which no write leads. Blank lines are nobody's.
    """

    is_asked: bool  # whether anybody has opted out
    theirs: list[WriteLines] = field(default_factory=list)
    unknown: list[WriteLines] = field(default_factory=list)
    without_write: dict[str, int] = field(default_factory=dict)
    line_count: int = 0  # of all of `theirs`
    more: int = 0  # writes beyond the first MOST of each kind


def find_opted_out_lines(agent: Agent) -> OptedOutLines:
    """Find the lines of an agent's memory files that come from people who opted out.

    Finds no line while nobody has.
    """
    if not consent.read_opted_out():
        return OptedOutLines(is_asked=False)
    result = OptedOutLines(is_asked=True)
    by_write: dict[str, Lines] = {}
    for name in MEMORY_FILES:
        blame = blame_file(agent, name)
        if blame is None:
            continue
        writes = _group_shared_writes(blame)
        for line in blame.lines:
            if not line.text.strip():
                continue
            if not line.audit_id:
                result.without_write[name] = result.without_write.get(name, 0) + 1
            for write_id in writes.get(line.audit_id, ()):
                by_write.setdefault(write_id, []).append((name, line.number, line.text.rstrip("\r\n")))
    audits = _read_audits(agent.db, by_write)
    turn_ids = _get_turn_ids(audits)
    hidden = consent.find_withheld_keys(agent.db, turn_ids.values())
    turns = ConversationTurn.objects.using(agent.db).in_bulk([name for name in turn_ids.values() if name])
    for row in sorted(audits, key=lambda row: (row.created_at, row.place), reverse=True):
        write_lines = WriteLines(row, turns.get(turn_ids[row.id]), by_write[row.id])
        if write_lines.turn is None:
            result.unknown.append(write_lines)
        elif write_lines.turn.id in hidden:
            result.theirs.append(write_lines)
    result.line_count = len({line for write_lines in result.theirs for line in write_lines.lines})
    result.more = sum(max(0, len(kind) - MOST) for kind in (result.theirs, result.unknown))
    del result.theirs[MOST:], result.unknown[MOST:]
    return result


def has_withheld_lines(db: str, versions: Iterable[Blame | None]) -> bool:
    """Return whether a version has a line whose words may not be used.

    A line may be used when it leads to a turn whose words may be used; a line of several writes, when each of them
    does. Blank lines are nobody's. False while nobody has opted out.
    """
    return bool(consent.read_opted_out()) and any(_has_withheld_lines(db, blame) for blame in versions if blame)


def _has_withheld_lines(db, blame):
    writes = _group_shared_writes(blame)
    turn_ids = _get_turn_ids(_read_audits(db, [write_id for write_ids in writes.values() for write_id in write_ids]))
    hidden = consent.find_withheld_keys(db, {*turn_ids.values(), None})
    usable = {
        name
        for name, write_ids in writes.items()
        if all(turn_ids.get(write_id) not in hidden for write_id in write_ids)
    }
    return any(line.text.strip() and line.audit_id not in usable for line in blame.lines)


def _read_audits(db, audit_ids: Collection[str]) -> list[WriteGuardianAudit]:
    return list(WriteGuardianAudit.objects.using(db).placed().defer("diff", "hunks_json").in_bulk(audit_ids).values())


def _get_turn_ids(audits) -> dict[str, str | None]:
    """Return the turn of each write's lines; None where it is not known.

    Text that a person chose or typed during a rollback was said in no turn, least of all in that of the write that it
    took back.
    """
    rollback = WriteGuardianAudit.Origin.ROLLBACK
    return {row.id: None if row.origin == rollback else row.turn_id for row in audits}


def _group_shared_writes(blame) -> dict[str, list[str]]:
    """Return by each write all writes that its lines may come from: several share one diff."""
    writes = {line.audit_id: [line.audit_id] for line in blame.lines if line.audit_id and line.text.strip()}
    for shared, standing in blame.shared.items():
        if standing in writes:
            writes[standing].append(shared)
    return writes
