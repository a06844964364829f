"""The memory files of an agent as they are now, and which of them may not be sent while somebody has opted out."""

import hashlib

from agents.models import Agent
from ledger import consent
from openclaw_web.errors import Refused

from .. import versions
from ..detail import line_blame, opted_out_lines
from ..rollbacks import rollback_plan


class Memory:
    """The files, each read once."""

    def __init__(self, agent: Agent):
        self._agent = agent
        self._read: dict[str, bytes | None] = {}
        self._unreadable: dict[str, Refused] = {}
        self._hidden: dict[str, bool] = {}

    def read_file(self, name: str) -> bytes | None:
        """What a file holds; None: there is none. Raises MayNotWrite and NotWritten for what nobody may touch."""
        if name in self._unreadable:
            raise self._unreadable[name]
        if name not in self._read:
            try:
                self._read[name] = rollback_plan.read_memory_file(self._agent, name)
            except Refused as refused:
                self._unreadable[name] = refused
                raise
        return self._read[name]

    def can_read(self, name: str) -> bool:
        """Whether a file can be read, or is not there."""
        try:
            self.read_file(name)
        except Refused:
            return False
        return True

    def is_hidden(self, name: str) -> bool:
        """Whether nothing of a file may be sent: a line of it leads to no turn whose words may be used.

        Who wrote what is known of the newest version. A file that holds anything else is hidden as a whole, one that
        nobody can read is not: nothing of it is sent.
        """
        if name not in self._hidden:
            self._hidden[name] = (
                bool(consent.read_opted_out()) and self.can_read(name) and self._has_withheld_lines(name)
            )
        return self._hidden[name]

    def _has_withheld_lines(self, name):
        held = self._read[name]
        if held is None or not held.strip():
            return False
        newest = versions.find_newest(self._agent, name)
        if newest is None or newest.content_hash != hashlib.sha256(held).hexdigest():
            return True
        return opted_out_lines.has_withheld_lines(
            self._agent.db, [line_blame.FileBlame(self._agent.db, name).blame_snapshot(newest)]
        )
