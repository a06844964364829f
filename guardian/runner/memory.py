"""An agent's memory files as they are now, and which of them are hidden.

While somebody has opted out, a file with lines whose words may not be used is not sent.
"""

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
        """Return what a file holds; None if there is none.

        Raises MayNotWrite and NotWritten for a file that nobody may touch.
        """
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
        """Return whether a file can be read, or does not exist."""
        try:
            self.read_file(name)
        except Refused:
            return False
        return True

    def is_hidden(self, name: str) -> bool:
        """Return whether nothing of a file may be sent.

        It is hidden when a line leads to no turn whose words may be used. The authors of lines are known only for the
        newest version: a file that holds anything else is hidden as a whole. A file that nobody can read is not hidden,
        since nothing of it is sent.
        """
        if name not in self._hidden:
            self._hidden[name] = (
                bool(consent.read_opted_out()) and self.can_read(name) and self._has_withheld_lines(name)
            )
        return self._hidden[name]

    def _has_withheld_lines(self, name):
        content = self._read[name]
        if content is None or not content.strip():
            return False
        newest = versions.find_newest(self._agent, name)
        if newest is None or newest.content_hash != hashlib.sha256(content).hexdigest():
            return True
        return opted_out_lines.has_withheld_lines(
            self._agent.db, [line_blame.FileBlame(self._agent.db, name).blame_snapshot(newest)]
        )
