"""Scans the texts of agents for personal data and secrets, behind the import."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import databases
from agents.models import Agent
from openclaw_web.amounts import format_plural
from openclaw_web.sentences import join_sentences

from . import finding_store, rescan, table_scan, transcript_scan
from .detection import Detection, read_detection, read_version
from .finding_store import Step

STORED_STEPS, STORED_SIZE, STORED_ROWS = 200, 4_000_000, 2_000  # parts, characters, findings of one transaction
COUNTS = ("texts", "size", "omitted", "unreadable", "cut")


@dataclass(slots=True)
class ScanResult:
    """The counts of a scan: texts scanned, findings stored, texts that are left.

    `size` is in characters. `omitted` findings are beyond the limits, `unreadable` texts could not be read, and of
    `cut` texts only the first part was scanned.
    """

    scanned: int = 0
    findings: int = 0
    remaining: int = 0
    size: int = 0
    omitted: int = 0
    unreadable: int = 0
    cut: int = 0

    def add(self, counts: Counter[str], findings: int) -> None:
        """Add what was stored in one transaction."""
        self.scanned += counts["texts"]
        self.findings += findings
        for name in COUNTS[1:]:
            setattr(self, name, getattr(self, name) + counts[name])


@dataclass(slots=True)
class _Batch:
    """Steps that are stored in one transaction."""

    steps: list[Step] = field(default_factory=list)
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_full(self) -> bool:
        return len(self.steps) >= STORED_STEPS or self.rows >= STORED_ROWS or self.counts["size"] >= STORED_SIZE

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self.rows += len(step.rows)
        self.counts.update({name: getattr(step, name) for name in COUNTS})


def scan_all(progress: Any = None) -> dict[str, Any]:
    """Scan the new texts of all agents; return the counts as JSON-able values.

    Agents whose file is missing are left out. Raises what `progress.update` raises.
    """
    detection, total = read_detection(), ScanResult()
    opened = list(_open_agents())
    planned = sum(_count(db, detection.version) for _agent_id, db in opened) if progress else 0
    for agent_id, db in opened:
        result = _scan(agent_id, db, detection, None, _report(progress, total, planned, agent_id))
        for name in ("scanned", "findings", "remaining", *COUNTS[1:]):
            setattr(total, name, getattr(total, name) + getattr(result, name))
    return {"message": describe(total)} | {name: getattr(total, name) for name in ScanResult.__slots__}


def scan_agent(db: str, progress: Any = None, limit: int | None = None) -> ScanResult:
    """Scan the new texts of one agent, whose file has the alias `db`.

    With `limit` the scan ends once as many texts were scanned, or a few more. Raises what `progress.update` raises.
    """
    detection, agent_id, planned = read_detection(), db.removeprefix("agent_"), 0

    def report(scanned: int) -> None:
        nonlocal planned
        if progress and scanned:  # counted once something was new: nearly always nothing is
            planned = planned or scanned + _count(db, detection.version)
            progress.update(scanned, max(planned, scanned), _describe_scanning(agent_id))

    return _scan(agent_id, db, detection, limit, report)


def count_unscanned(db: str) -> int:
    """Count the texts of an agent that were not scanned by the rules of today."""
    return _count(db, read_version())


def is_needed() -> bool:
    """Whether an agent has texts that were not scanned, or findings of removed sessions."""
    rules = read_version()
    return any(
        transcript_scan.is_unscanned(db, rules)
        or transcript_scan.has_deleted(db)
        or table_scan.is_unscanned(db, rules)
        or rescan.select_noted(db).exists()
        for _agent_id, db in _open_agents()
    )


def forget_sessions(db: str, session_ids: list[str]) -> None:
    """Have these sessions scanned from their first record again, because their records were replaced."""
    transcript_scan.forget(db, session_ids)


def describe(result: ScanResult) -> str:
    """The result of a scan in sentences."""
    findings = ngettext("%(count)s finding stored", "%(count)s findings stored", result.findings)
    scanned = ngettext("%(count)s text scanned", "%(count)s texts scanned", result.scanned)
    sentences = [
        scanned % {"count": f"{result.scanned:,}"} + ", " + findings % {"count": f"{result.findings:,}"} + ".",
        result.omitted
        and format_plural(
            "%(count)s more finding is not stored, because its text has too many.",
            "%(count)s more findings are not stored, because their texts have too many.",
            result.omitted,
        ),
        result.cut
        and format_plural(
            "Only the first 5 MB of %(count)s long artifact were scanned.",
            "Only the first 5 MB of each of %(count)s long artifacts were scanned.",
            result.cut,
        ),
        result.unreadable
        and format_plural(
            "%(count)s record could not be read and was not scanned.",
            "%(count)s records could not be read and were not scanned.",
            result.unreadable,
        ),
    ]
    return join_sentences(filter(None, sentences))


def _scan(agent_id, db, detection: Detection, limit, report):
    rescan.follow_key(agent_id, db)
    finding_store.resume_summary(agent_id, db)
    transcript_scan.remove_deleted(agent_id, db)
    table_scan.remove_deleted(agent_id, db)
    result, batch = ScanResult(), _Batch()
    for step in chain(transcript_scan.scan_sessions(db, detection), table_scan.scan_tables(db, detection)):
        batch.add(step)
        if batch.is_full:
            batch = _store(agent_id, db, batch, result, report)
            if limit is not None and result.scanned >= limit:
                break
    _store(agent_id, db, batch, result, report)
    result.findings += rescan.scan_noted(agent_id, db, detection)
    result.remaining = _count(db, detection.version) if result.scanned else 0
    return result


def _store(agent_id, db, batch, result, report):
    count = finding_store.store(agent_id, db, batch.steps) if batch.steps else 0
    restarted = [step.session_id for step in batch.steps if step.is_restart and step.session_id]
    if restarted:
        transcript_scan.remove_added(agent_id, db, restarted)
    result.add(batch.counts, count)
    report(result.scanned)
    return _Batch()


def _report(progress, total, planned, agent_id):
    def report(scanned):
        if progress:
            done = total.scanned + scanned
            progress.update(done, max(planned, done), _describe_scanning(agent_id))

    return report


def _describe_scanning(agent_id):
    return _("Scanning texts of %(agent)s") % {"agent": agent_id}


def _count(db, rules):
    noted = rescan.select_noted(db)[: table_scan.MOST_COUNTED].count()
    return transcript_scan.count_records(db, rules) + table_scan.count_rows(db, rules) + noted


def _open_agents() -> Iterator[tuple[str, str]]:
    for agent in Agent.objects.order_by("agent_id"):
        if db := databases.find_alias(agent.agent_id):
            yield agent.agent_id, db
