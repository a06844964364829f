"""Whose lines a version of a memory file holds: while somebody has opted out, those that lead to no usable turn."""

from collections.abc import Collection
from dataclasses import dataclass

from gate.recording import consent
from ledger.models import ConversationTurn

from ..models import WriteGuardianAudit
from .blaming import Blame, Line

CHUNK = 200


@dataclass(frozen=True, slots=True)
class Behind:
    """Writes by id, and what is known of the turns behind them: `hidden` are those whose words may not be used."""

    audits: dict[str, WriteGuardianAudit]
    turns: dict[str, ConversationTurn]
    hidden: frozenset[str]

    def turn_of(self, audit: WriteGuardianAudit) -> ConversationTurn | None:
        """The turn in which the lines of a write were said; None where nobody knows.

        What a person chose or typed during a rollback was said in no turn, least of all in that of the write that it
        took back.
        """
        return None if audit.origin == WriteGuardianAudit.Origin.ROLLBACK else self.turns.get(audit.turn_id or "")

    def is_usable(self, audit_id: str) -> bool:
        """Whether a write leads to a turn whose words may be used."""
        audit = self.audits.get(audit_id)
        turn = self.turn_of(audit) if audit else None
        return turn is not None and turn.id not in self.hidden


def behind(db: str, audit_ids: Collection[str]) -> Behind:
    """What is behind these writes, asked for many at once."""
    audits = WriteGuardianAudit.objects.using(db).placed().defer("diff", "hunks_json").in_bulk(audit_ids)
    turns: dict[str, ConversationTurn] = {}
    hidden: set[str] = set()
    wanted = sorted({row.turn_id for row in audits.values() if row.turn_id})
    for start in range(0, len(wanted), CHUNK):
        part = ConversationTurn.objects.using(db).in_bulk(wanted[start : start + CHUNK])
        turns |= part
        hidden |= consent.withheld(db, list(part.values()))
    return Behind(audits, turns, frozenset(hidden))


def writes_of(blamed: Blame) -> dict[str, list[str]]:
    """By each write that lines lead to, every write that they may be of: several share one diff."""
    found = {line.audit_id: [line.audit_id] for line in blamed.lines if line.audit_id and line.text.strip()}
    for one, standing in blamed.shared.items():
        if standing in found:
            found[standing].append(one)
    return found


def withheld(db: str, blamed: Blame) -> list[Line]:
    """The lines of a version that lead to no turn whose words may be used; none while nobody has opted out.

    A line of one of several writes may be used when each of them leads to such a turn. Blank lines are nobody's.
    """
    if not consent.opted_out():
        return []
    writes = writes_of(blamed)
    known = behind(db, [one for some in writes.values() for one in some])
    usable = {name for name, some in writes.items() if all(map(known.is_usable, some))}
    return [line for line in blamed.lines if line.text.strip() and line.audit_id not in usable]
