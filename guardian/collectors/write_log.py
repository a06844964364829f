"""Reads write_guardian's log into writes.

The log is `.openclaw-reflection/write-guardian.log.jsonl` of a workspace. It names neither sessions nor decisions, and
has no contents of files.
"""

from gate.collectors import guardian_log
from gate.collectors.source_decisions import Rejection

from ..files import FILE_OF, MEMORY_FILES
from .source_writes import SourceWrite, compute_write_id

MAX_SEEN = 1_000  # writes of one moment, for the comparison with equal lines


class LogReader:
    """Reads the lines of one log.

    Equal lines are one write, however often they occur; `equal` counts the repeated ones.
    """

    def __init__(self) -> None:
        self.equal = 0
        self._seen: set[str] = set()
        self._moment: int | None = None

    def feed(self, line: bytes) -> SourceWrite | Rejection | None:
        """Return the write of a line, or its problem; None for an empty or repeated line."""
        entry = next(guardian_log.read([line]), None)
        if not isinstance(entry, guardian_log.WriteAttempt):
            return entry
        target = entry.target_file or FILE_OF[entry.decision]
        if target not in MEMORY_FILES:
            return Rejection("bad_write", f"unknown file {target[:120]}")
        content = (entry.status, entry.reason, entry.fact)
        write_key = compute_write_id(entry.at, entry.decision, target, content, 0)
        if self._is_equal(entry.at, write_key):
            self.equal += 1
            return None
        return SourceWrite(
            id=write_key,
            at=entry.at,
            target_file=target,
            status=entry.status,
            kind=entry.decision,
            fact=entry.fact or None,
            reason=entry.reason,
        )

    def _is_equal(self, at, id_):
        if at != self._moment or len(self._seen) >= MAX_SEEN:
            self._moment = at
            self._seen.clear()
        is_seen = id_ in self._seen
        self._seen.add(id_)
        return is_seen
