"""The memory files of an agent as they are now, and which of them hold words of somebody who has opted out."""

from functools import cached_property

from agents.models import Agent
from gate.recording import consent
from ledger.models import ConversationTurn

from .. import changes
from ..exact import text_of
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from ..rollbacks import planning

LOOKED_AT = 2_000  # writes to one file, back from the last one


class Memory:
    """The files, each read once."""

    def __init__(self, agent: Agent):
        self._agent = agent
        self._read: dict[str, bytes | None] = {}

    def reads(self, name: str) -> bytes | None:
        """What a file holds; None: there is none. Raises MayNotWrite and NotWritten for what nobody may touch."""
        if name not in self._read:
            self._read[name] = planning.current(self._agent, name)
        return self._read[name]

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The files with lines that writes of withheld turns put there: nothing of these files is sent."""
        if not consent.opted_out():
            return frozenset()
        return frozenset(name for name in MEMORY_FILES if self._has_withheld_lines(name))

    def _has_withheld_lines(self, name):
        db = self._agent.db
        rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, turn_id__isnull=False, lines_added__gt=0)
        rows = rows.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)  # what these brought back is somebody else's
        written = list(rows.order_by("-created_at").values_list("id", "turn_id")[:LOOKED_AT])
        turns = ConversationTurn.objects.using(db).in_bulk({turn_id for _id, turn_id in written})
        gone = {turn_id for _id, turn_id in written} - turns.keys()  # nobody can tell whose these were
        theirs = consent.withheld(db, list(turns.values())) | gone
        ids = [audit_id for audit_id, turn_id in written if turn_id in theirs]
        held = self.reads(name) if ids else None
        now = {line.strip() for line in text_of(held or b"").split("\n")} - {""}
        return bool(now) and any(not now.isdisjoint(_added(db, audit_id)) for audit_id in ids)


def _added(db, audit_id):
    """The lines that a write added, from the version after it: of a long change its diff shows a part only."""
    row = WriteGuardianAudit.objects.using(db).select_related("after_snapshot").get(id=audit_id)
    lines = row.after_snapshot.content.split("\n") if row.after_snapshot else []
    return {line.strip() for hunk in changes.hunks_of(row.hunks_json) for line in lines[hunk[2] : hunk[3]]}
