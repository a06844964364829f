"""The log of write_guardian (`.openclaw-reflection/write-guardian.log.jsonl` of a workspace), read into writes.

It names neither sessions nor decisions, and says nothing of what a file held.
"""

from collections import Counter

from gate.collectors import guardian_log
from gate.collectors.found import Problem

from ..files import FILE_OF, MEMORY_FILES
from .found import FoundWrite, write_id


class LogReader:
    """Reads the lines of one log in order. Equal lines of one moment are told apart by their order."""

    def __init__(self) -> None:
        self._same: Counter[tuple[object, ...]] = Counter()

    def feed(self, line: bytes) -> FoundWrite | Problem | None:
        """The write of a line, or what is wrong with it; None for an empty one."""
        found = next(guardian_log.read([line]), None)
        if not isinstance(found, guardian_log.Written):
            return found
        target = found.target_file or FILE_OF[found.decision]
        if target not in MEMORY_FILES:
            return Problem("bad_write", f"unknown file {target[:120]}")
        said = (found.status, found.reason, found.fact)
        about = (found.at, found.decision, target, *said)
        self._same[about] += 1
        return FoundWrite(
            id=write_id(found.at, found.decision, target, said, self._same[about] - 1),
            at=found.at,
            target_file=target,
            status=found.status,
            kind=found.decision,
            fact=found.fact or None,
            reason=found.reason,
        )
