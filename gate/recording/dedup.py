"""Finds several reports of one event by session, time and words, and merges them."""

from functools import partial

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import get_reported_fields

from ..models import MemoryGateDecision
from . import sql
from .reports import RANK, Match, Origin, Report

DUPLICATE_MS = 2_000  # milliseconds between two reports of one event
REPORTED = [field.attname for field in get_reported_fields(MemoryGateDecision)]


class Conflict(Refused):
    """Ids that other decisions have already."""

    status = 409

    def __init__(self, ids):
        sentence = _("There already is another decision with this ID. Nothing was stored.")
        super().__init__(sentence, reasons=[{"id": name, "reason": sentence} for name in ids])


def find_duplicates(db: str, reports: list[Report]) -> dict[str, MemoryGateDecision]:
    """Return by id the stored row of each event that another source reported.

    Each row is the duplicate of one report at most. Raises Conflict when a row has the id of a report, and is another
    event.
    """
    if not reports or reports[0].row.origin == Origin.OWN:
        return {}
    duplicates = _find_by_id(db, reports)
    near = sql.find_nearby_ids(db, _find_spans(reports), {report.row.reason for report in reports}, reports[0].source)
    rows = MemoryGateDecision.objects.using(db).defer("raw_response").filter(id__in=near)
    nearby = rows.order_by("created_at") if near else []
    remaining = [row for row in nearby if row.id not in {duplicate.id for duplicate in duplicates.values()}]
    for report in reports:
        candidates = [row for row in remaining if report.key not in duplicates and _is_same_event(row, report)]
        if candidates:
            duplicates[report.key] = min(candidates, key=partial(_distance, report))
            remaining.remove(duplicates[report.key])
    return duplicates


def _find_spans(reports):
    """Return the spans of time in which duplicates may be, none of which overlap."""
    spans: list[list[int]] = []
    for moment in sorted(report.row.created_at for report in reports):
        if spans and moment - DUPLICATE_MS <= spans[-1][1]:
            spans[-1][1] = moment + DUPLICATE_MS
        else:
            spans.append([moment - DUPLICATE_MS, moment + DUPLICATE_MS])
    return spans


def _find_by_id(db, reports):
    """Return stored rows with the ids of reports.

    A source may give the ids that another source, a database, gave before. Raises Conflict.
    """
    ids = sql.find_stored_ids(db, [report.key for report in reports])
    rows = MemoryGateDecision.objects.using(db).in_bulk(ids) if ids else {}
    clashes = [
        report.key for report in reports if report.key in rows and not _is_same_decision(rows[report.key], report.row)
    ]
    if clashes:
        raise Conflict(clashes)
    return rows


def _distance(report, row):
    return abs(row.created_at - report.row.created_at)


def _is_same_decision(row, reported):
    return (row.decision, row.reason) == (reported.decision, reported.reason)


def _is_same_event(row, report):
    if abs(row.created_at - report.row.created_at) > DUPLICATE_MS:
        return False
    if Origin.OWN in (row.origin, report.row.origin):
        return False
    if not _is_same_decision(row, report.row):
        return False
    ours = {row.session_id, row.session_key, row.turn_id} - {None}
    theirs = {report.row.session_id, report.row.session_key, report.row.turn_id, report.other_key} - {None}
    return not ours.isdisjoint(theirs)


def merge_report(row: MemoryGateDecision, report: Report) -> None:
    """Complete a row with the columns that another source reports.

    Columns of a source that ranks higher replace those of the row.
    """
    reported = report.row
    is_better = RANK[reported.origin] < RANK[row.origin]
    for name in REPORTED:
        value = getattr(reported, name)
        if value is not None and (is_better or getattr(row, name) is None):
            setattr(row, name, value)
    if reported.turn_id and row.turn_id == reported.turn_id:
        row.session_id = reported.session_id
        row.match = Match.GIVEN if Match.GIVEN in (row.match, reported.match) else reported.match
    if is_better:
        row.origin = reported.origin
    if report.window and (row.window_hash is None or row.is_window_derived):
        row.window_hash, row.is_window_derived = report.window.hash, report.is_window_derived
    row.sources |= report.source
