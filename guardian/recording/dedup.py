"""Finds duplicate reports of a write, and merges them into one row.

Duplicates have the same file and fact, and nearly the same time.
"""

from collections.abc import Collection, Sequence

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import get_reported_fields

from ..models import WriteGuardianAudit
from . import sql
from .reports import CHANGED, RANK, Report, Source, Status

DUPLICATE_MS = 2_000  # between two reports of one write
AT_ONCE = 500
REPORTED = [field.attname for field in get_reported_fields(WriteGuardianAudit)]


class Conflict(Refused):
    """Reported ids that belong to other writes."""

    status = 409

    def __init__(self, ids):
        sentence = _("Another write has this ID. Nothing was stored.")
        super().__init__(sentence, reasons=[{"id": key, "reason": sentence} for key in ids])


def find_duplicates(
    db: str, new_reports: Sequence[Report], stored_keys: Collection[str]
) -> dict[str, WriteGuardianAudit]:
    """Return the stored row of each report that another source stored already, by key.

    Each row is the duplicate of one report at most. `stored_keys` are the keys that are ids of rows. Raises Conflict
    when the row with the id of a report is another write.
    """
    comparable_reports = [report for report in new_reports if report.source in RANK]
    audits = WriteGuardianAudit.objects.using(db)
    rows_by_key = {
        row.id: row for row in _find_by_ids(audits, [report.key for report in new_reports if report.key in stored_keys])
    }
    conflicts = [
        report.key
        for report in new_reports
        if report.key in rows_by_key and not _may_report(rows_by_key[report.key], report)
    ]
    if conflicts:
        raise Conflict(conflicts)
    taken_ids = set(rows_by_key)
    for report in sorted(comparable_reports, key=lambda report: report.row.created_at):
        if report.key in rows_by_key:
            continue
        candidates = [
            row for row in _find_nearby(db, report) if row.id not in taken_ids and _is_same_write(row, report)
        ]
        if candidates:
            at = report.row.created_at
            rows_by_key[report.key] = min(candidates, key=lambda row: (abs(row.created_at - at), row.id))
            taken_ids.add(rows_by_key[report.key].id)
    return rows_by_key


def _find_nearby(db, report):
    """Return the writes with the fact of a report around its time, of any session.

    A log does not name the session.
    """
    name, fact, at = report.row.target_file, report.row.candidate_fact, report.row.created_at
    if not fact:
        return []
    ids = sql.find_nearby_ids(
        db, since=at - DUPLICATE_MS, until=at + DUPLICATE_MS, name=name, fact=fact, source=report.source
    )
    return WriteGuardianAudit.objects.using(db).filter(id__in=ids) if ids else []


def _find_by_ids(audits, ids):
    for start in range(0, len(ids), AT_ONCE):
        yield from audits.filter(id__in=ids[start : start + AT_ONCE])


def _may_report(row, report):
    """Return whether a report may be of the row with its id.

    Never of a write of this site itself.
    """
    return not row.sources & Source.OWN and _is_same_write(row, report)


def _is_same_write(row, report):
    facts = {row.candidate_fact, report.row.candidate_fact} - {None, ""}
    is_same_end = (row.status in CHANGED) == (report.row.status in CHANGED) and (
        row.status in CHANGED or row.status == report.row.status
    )
    return row.target_file == report.row.target_file and is_same_end and len(facts) < 2


def rank_sources(sources: int) -> int:
    """Return how reliable the sources of a write are: the lower the better."""
    return next((place for place, source in enumerate(RANK) if sources & source), len(RANK))


def merge_report(row: WriteGuardianAudit, report: Report) -> None:
    """Merge the report of another source into a row; the better source's values win."""
    reported_row = report.row
    is_better = rank_sources(report.source) < rank_sources(row.sources)
    for name in REPORTED:
        value = getattr(reported_row, name)
        if value is not None and (is_better or getattr(row, name) is None):
            setattr(row, name, value)
    if reported_row.turn_id and row.turn_id == reported_row.turn_id:
        row.match = reported_row.match if is_better or row.match == "none" else row.match
    if is_better:
        row.created_at, row.origin = reported_row.created_at, reported_row.origin
    if reported_row.status == Status.ROLLED_BACK:
        row.status = Status.ROLLED_BACK
    row.sources |= report.source | reported_row.sources
