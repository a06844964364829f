"""Stores reported writes; several reports of one write become one row.

It also stores versions, diffs and statuses. Diffs take long, and so are computed before the write lock is taken.
"""

import copy
import hashlib
from collections.abc import Sequence

from ledger import changed_rows
from openclaw_web.sqlite import write_queue
from people.configuration import setting_values as configuration

from ..changes import Change, ChangeCache, compute_change
from ..corrections import rules
from ..models import GuardianReceipt, GuardianStatus, WriteGuardianAudit
from ..services import tell_taken_back
from . import snapshot_matching, snapshot_pairs, sql
from .reports import (
    CHANGED,
    Conflict,
    FileChange,
    Report,
    Source,
    StoreResult,
    build_change_columns,
    find_current_id,
    find_duplicates,
    may_replace,
    merge_report,
    rank_sources,
    replace_write,
)
from .snapshot_pairs import place_snapshots

SNAPSHOTS_SETTING = "writeGuardianAuditing.storeFileSnapshots"


def store_reports(db: str, reports: Sequence[Report], change_cache: ChangeCache | None = None) -> StoreResult:
    """Store reports of writes: all of them, or none when one is a Conflict.

    A second report with the same id and content is the same write. A report within two seconds of another source's,
    with the same file and fact, is merged into its row. `change_cache` keeps diffs from one call to the next.
    """
    keeps_snapshots = configuration.is_on(SNAPSHOTS_SETTING)
    change_cache = change_cache or ChangeCache()
    changes = {
        report.key: _compute_change(report.row.target_file, report.change, change_cache)
        for report in reports
        if report.change and keeps_snapshots
    }
    active_rules, result = rules.read_rule_rows(db), StoreResult()
    with write_queue.agent_transaction(db):
        new_reports, known_ids = _find_new_reports(db, reports, result)
        duplicates = find_duplicates(db, new_reports, known_ids)
        rules.flag_writes([report.row for report in new_reports], active_rules)
        since: dict[str, int] = {}
        statuses: list[GuardianStatus] = []
        for report in new_reports:
            duplicate = duplicates.get(report.key)
            is_new = duplicate is None
            row = _take_new_row(report, result) if is_new else _merge_into(db, report, duplicate, result, active_rules)
            at = _fill_versions(db, row, report, changes.get(report.key))
            if at is not None:
                since[row.target_file] = min(at, since.get(row.target_file, at))
            if is_new:
                sql.insert_rows(db, [row])
                statuses.append(_build_first_status(row, report.reporter))
            else:
                row.save(using=db)
        sql.insert_rows(db, statuses)
        changed_rows.note(db, "write", [row.id for row in duplicates.values()])
        receipts = [
            GuardianReceipt(id=report.key, audit_id=result.ids[report.key], body_sha256=report.body_sha256)
            for report in new_reports
            if report.body_sha256 or result.ids[report.key] != report.key
        ]
        sql.insert_rows(db, receipts)
        for name, at in since.items() if keeps_snapshots else ():
            match = snapshot_matching.match_in_transaction(db, name, since=at, changes=change_cache)
            result.unattributed += match.unattributed
    return result


def find_known_ids(db: str, ids: Sequence[str], source: Source) -> set[str]:
    """Return those of these ids under which a source has reported a write before.

    This is for sources that send no bodies.
    """
    receipts = sql.read_receipts(db, ids)
    rows = {id_: receipts[id_][0] if id_ in receipts else id_ for id_ in ids}
    sources = sql.read_sources(db, set(rows.values()))
    return {id_ for id_, row_id in rows.items() if sources.get(row_id, 0) & source}


def find_row_id(db: str, reported_id: str) -> str | None:
    """Return the id of the row of a write that was reported under this id.

    None when there is none, or this site wrote it.
    """
    current_id = find_current_id(db, reported_id)
    sources = WriteGuardianAudit.objects.using(db).filter(id=current_id).values_list("sources", flat=True).first()
    return None if sources is None or sources & Source.OWN else current_id


def hash_body(body: bytes) -> str:
    """Return the hash by which a repeated body is recognized."""
    return hashlib.sha256(body).hexdigest()


def _compute_change(name, sides: FileChange, change_cache: ChangeCache) -> Change:
    pair = tuple(sha256 and sha256[:32] for sha256 in sides.hashes)
    return change_cache.get(name, pair, lambda: compute_change(sides.before, sides.after, name))


def _find_new_reports(db, reports, result):
    """Return the reports that their source did not send before, and the ids of stored writes.

    Oldest first. Raises Conflict for an id that belongs to another write.
    """
    receipts = sql.read_receipts(db, [report.key for report in reports])
    ids = {report.key: receipts[report.key][0] if report.key in receipts else report.key for report in reports}
    sources = sql.read_sources(db, {*ids, *ids.values()})
    new_reports: dict[str, Report] = {}
    conflicts = []
    for report in reports:
        known_body = receipts[report.key][1] if report.key in receipts else ""
        is_known = (
            report.body_sha256 == known_body if report.body_sha256 else sources.get(ids[report.key], 0) & report.source
        )
        if report.key in new_reports:
            conflicts += [report.key] if report.body_sha256 != new_reports[report.key].body_sha256 else []
        elif is_known:
            result.known.append(ids[report.key])
            result.ids[report.key] = ids[report.key]
        elif report.body_sha256 and known_body:
            conflicts.append(report.key)
        else:
            new_reports[report.key] = report
    if conflicts:
        raise Conflict(conflicts)
    return sorted(new_reports.values(), key=lambda report: report.row.created_at), sources.keys()


def _take_new_row(report: Report, result):
    """Return the row of a write without an earlier report, not stored yet."""
    report.row.sources |= report.source
    result.new.append(report.key)
    result.ids[report.key] = report.key
    return report.row


def _merge_into(db, report: Report, row, result, active_rules):
    """Merge a report into the row of another source's, under the id of the better source."""
    is_better = rank_sources(report.source) < rank_sources(row.sources) and row.id != report.key
    was_taken_back = row.status == WriteGuardianAudit.Status.ROLLED_BACK
    merge_report(row, report)
    rules.flag_writes([row], active_rules)
    if is_better and may_replace(db, row.id, report.key):
        row = _rename_row(db, row, report)
    if not was_taken_back and row.status == WriteGuardianAudit.Status.ROLLED_BACK:
        tell_taken_back(db, row.id, by=report.reporter)
    result.known.append(row.id)
    result.merged.append(row.id)
    result.ids[report.key] = row.id
    return row


def _rename_row(db, old_row, report):
    """Store a row under the id of its best source, in place of the old row."""
    row = copy.copy(old_row)
    row._state = copy.copy(old_row._state)
    row.id = report.key
    row.save(using=db, force_insert=True)
    _build_first_status(row, report.reporter).save(using=db)
    replace_write(db, old_row, row)
    return row


def _fill_versions(db, row, report: Report, change: Change | None):
    """Give a write both versions and their difference, where its report has them.

    Returns the moment from which other writes have to be matched again, or this one has to be placed; None where none
    has to.
    """
    if row.status not in CHANGED and change and not row.sources & Source.ELSEWHERE:
        return _fill_unchanged_version(db, row, report)
    is_known = row.hunks_json is not None and not row.sources & Source.FILES
    if is_known or row.status not in CHANGED or row.sources & Source.ELSEWHERE:
        return None
    earliest_match = row.created_at - snapshot_pairs.LATE_MS - snapshot_pairs.EARLY_MS
    if change is None:
        return earliest_match
    was_matched = bool(row.sources & Source.FILES)
    placement = place_snapshots(db, row.target_file, report.change, row.created_at)
    row.before_snapshot_id, row.after_snapshot_id = (side and side.id for side in (placement.before, placement.after))
    for name, value in build_change_columns(change).items():
        setattr(row, name, value)
    row.sources &= ~Source.FILES
    row.is_diff_shared = False
    if was_matched or placement.is_news:
        moments = [side.created_at for side in (placement.before, placement.after) if side]
        return min(moments + ([earliest_match] if was_matched else []))
    return None


def _fill_unchanged_version(db, row, report: Report):
    """Give a write that changed nothing the version of its file.

    Returns the moment of that version where it is new among the versions, else None.
    """
    if row.before_snapshot_id or report.change is None or report.change.before is None:
        return None
    placement = place_snapshots(db, row.target_file, report.change, row.created_at)
    row.before_snapshot_id = placement.before.id if placement.before else None
    return placement.before.created_at if placement.before and placement.is_news else None


def _build_first_status(row, reporter):
    columns = {"given_by": reporter, "reason": row.reason or "", "created_at": row.created_at}
    return GuardianStatus(audit_id=row.id, status=row.status, **columns)


__all__ = ["Conflict", "FileChange", "hash_body", "store_reports"]
