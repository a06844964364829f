"""The log of write_guardian (`.openclaw-reflection/write-guardian.log.jsonl` of a workspace), read into writes.

It names neither sessions nor decisions, and says nothing of what a file held.
"""

from gate.collectors import guardian_log
from gate.collectors.source_decisions import Rejection

from ..files import FILE_OF, MEMORY_FILES
from .source_writes import SourceWrite, compute_write_id

MAX_SEEN = 1_000  # writes of one moment, to know an equal line by


class LogReader:
    """Reads the lines of one log. Equal lines are one write, however often it is told; `equal` counts the others."""

    def __init__(self) -> None:
        self.equal = 0
        self._seen: set[str] = set()
        self._moment: int | None = None

    def feed(self, line: bytes) -> SourceWrite | Rejection | None:
        """The write of a line, or what is wrong with it; None for an empty one, and for an equal one."""
        found = next(guardian_log.read([line]), None)
        if not isinstance(found, guardian_log.WriteAttempt):
            return found
        target = found.target_file or FILE_OF[found.decision]
        if target not in MEMORY_FILES:
            return Rejection("bad_write", f"unknown file {target[:120]}")
        said = (found.status, found.reason, found.fact)
        id_ = compute_write_id(found.at, found.decision, target, said, 0)
        if self._is_equal(found.at, id_):
            self.equal += 1
            return None
        return SourceWrite(
            id=id_,
            at=found.at,
            target_file=target,
            status=found.status,
            kind=found.decision,
            fact=found.fact or None,
            reason=found.reason,
        )

    def _is_equal(self, at, id_):
        if at != self._moment or len(self._seen) >= MAX_SEEN:
            self._moment = at
            self._seen.clear()
        is_seen = id_ in self._seen
        self._seen.add(id_)
        return is_seen
