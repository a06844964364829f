"""The memory files of an agent as they are now, and which of them hold words of somebody who has opted out."""

from functools import cached_property

from agents.models import Agent
from gate.recording import consent
from ledger.models import ConversationTurn

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
        rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, turn_id__isnull=False, diff__gt="")
        rows = rows.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)  # what these brought back is somebody else's
        written = list(rows.order_by("-created_at").values_list("turn_id", "diff")[:LOOKED_AT])
        turns = ConversationTurn.objects.using(db).in_bulk({turn_id for turn_id, _diff in written})
        gone = {turn_id for turn_id, _diff in written} - turns.keys()  # nobody can tell whose these were
        theirs = consent.withheld(db, list(turns.values())) | gone
        added = {
            line[1:].strip()
            for turn_id, diff in written
            if turn_id in theirs
            for line in diff.split("\n")
            if line.startswith("+") and not line.startswith("+++ ")
        } - {""}
        held = self.reads(name) if added else None
        return held is not None and not added.isdisjoint(line.strip() for line in text_of(held).split("\n"))
