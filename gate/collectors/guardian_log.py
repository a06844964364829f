"""The log of write_guardian (`.openclaw-reflection/write-guardian.log.jsonl` of a workspace).

It says how decisions were written.

Only this file has the facts of decisions; it has neither ids nor conversations.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ledger.collectors.records import parse_moment_ms

from .log_lines import parse_object
from .source_decisions import UPDATES, Rejection

STATUSES = ("written", "refused", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class WriteAttempt:
    """One attempt to write a fact; values that the line lacks are None."""

    at: int
    decision: str
    target_file: str | None
    status: str
    reason: str | None
    fact: str | None


def read(lines: Iterable[bytes]) -> Iterator[WriteAttempt | Rejection]:
    """Yield the attempts of lines, and a problem for each line that cannot be used."""
    for raw in lines:
        entry = parse_object(raw)
        if isinstance(entry, Rejection):
            yield entry
        elif entry is not None:
            yield _parse_attempt(entry)


def _parse_attempt(entry):
    at, decision, status = parse_moment_ms(entry.get("timestamp")), entry.get("decision"), entry.get("status")
    target, reason, fact = (entry.get(name) for name in ("targetFile", "reason", "candidateFact"))
    if at is None:
        return Rejection("bad_decision", "no time")
    if decision not in UPDATES:
        return Rejection("bad_decision", f"unknown decision {str(decision)[:120]}")
    if status not in STATUSES:
        return Rejection("bad_decision", f"unknown status {str(status)[:120]}")
    if not all(value is None or isinstance(value, str) for value in (target, reason, fact)):
        return Rejection("bad_decision", "a file, reason or fact that is no text")
    return WriteAttempt(at, decision, target, status, reason, fact)
