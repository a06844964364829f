"""Reports of a write to a memory file by a source."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.utils.translation import gettext as _

from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import get_reported_fields
from openclaw_web.sqlite.json_columns import encode

from ..changes import Change
from ..models import BehaviorCorrection, GuardianReceipt, GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from . import sql

Status, Origin, Source = WriteGuardianAudit.Status, WriteGuardianAudit.Origin, WriteGuardianAudit.Source
CHANGED = (Status.WRITTEN, Status.ROLLED_BACK)  # the file was changed, even if that was undone later
# If several sources report a write, the first counts: what a plugin sent, then its database, then its log.
RANK = (Source.API, Source.DATABASE, Source.LOG)
SIDES = ("before", "after")
ENCODED = {side: f"{side}_base64" for side in SIDES}


@dataclass(frozen=True)
class FileChange:
    """The content of a file before and after a write, byte for byte; None: no file."""

    before: bytes | None
    after: bytes | None
    known_hashes: tuple[str | None, ...] | None = None

    @cached_property
    def hashes(self) -> tuple[str | None, ...]:
        """The hashes of both sides; None: there was no file."""
        return self.known_hashes or tuple(
            None if data is None else hashlib.sha256(data).hexdigest() for data in (self.before, self.after)
        )


@dataclass(slots=True)
class Report:
    """One report of a write, with a row that is not stored yet.

    `change` is None where the source does not say what the file held.
    """

    row: WriteGuardianAudit
    source: Source
    change: FileChange | None = None
    body_sha256: str = ""  # of the whole report; empty: its source never sends it again
    reporter: str = ""

    @property
    def key(self) -> str:
        """The id of the write in its source."""
        return self.row.id


@dataclass(slots=True)
class StoreResult:
    """The result of storing reports: ids of new rows and of known rows, and counts."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # of `known`, those that another source had reported
    withheld: int = 0
    unattributed: int = 0  # new unattributed changes that follow from these writes
    ids: dict[str, str] = field(default_factory=dict)  # the row's id, by the id in the report


def build_change_columns(change: Change | None) -> dict[str, str | int | None]:
    """Build the columns of a write from its change; None where the change is not known."""
    return {
        "diff": change.diff if change else None,
        "hunks_json": encode(change.hunks) if change else None,
        "lines_added": change.added if change else None,
        "lines_removed": change.removed if change else None,
        "lines_modified": change.modified if change else None,
    }


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
    keys = [report.key for report in new_reports if report.key in stored_keys]
    rows_by_key = {row.id: row for batch in in_batches(keys, AT_ONCE) for row in audits.filter(id__in=batch)}
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


def may_replace(db: str, old_id: str, new_id: str) -> bool:
    """Return whether `new_id` can replace `old_id`.

    Not while `old_id` is being rolled back, nor when both were rolled back.
    """
    if is_being_rolled_back(db, old_id):
        return False
    return Rollback.objects.using(db).filter(audit__in=[old_id, new_id]).count() < 2


def is_being_rolled_back(db: str, audit_id: str) -> bool:
    """Return whether a rollback of a write is under way, or was interrupted.

    Until it has ended, the write stays. Raises ValueError where an intent does not say which writes it is about.
    """
    waiting = RollbackIntent.objects.using(db).filter(ended_at=None).values_list("audits_json", flat=True)
    return any(audit_id in RollbackIntent.audits.decode_strictly(text) for text in waiting)


def replace_write(db: str, old: WriteGuardianAudit, new: WriteGuardianAudit) -> None:
    """Give the stored row `new` everything that refers to `old`, and remove `old`.

    The old id leads to the new row. The caller holds a transaction. The values of `new` stay, but for a status that
    people gave.
    """
    is_plain = old.status != Status.ROLLED_BACK and old.rule_id is None and old.retry_of is None
    if is_plain and not sql.is_acted_on(db, old.id):  # the usual case, fast: a plugin waits
        sql.delete_write(db, old.id)
        sql.insert_rows(db, [GuardianReceipt(id=old.id, audit_id=new.id, body_sha256="")])
        return
    rows = {"using": db}
    given = GuardianStatus.objects.using(db).filter(audit=old.id).order_by("created_at", "id")
    given.exclude(id=given.values_list("id", flat=True).first()).update(audit=new.id)  # the first is of the row itself
    Rollback.objects.using(db).filter(audit=old.id).update(audit=new.id)
    if old.status == Status.ROLLED_BACK:
        new.status = Status.ROLLED_BACK
    Rollback.objects.using(db).filter(own_audit=old.id).update(own_audit=new.id)
    BehaviorCorrection.objects.using(db).filter(audit=old.id).update(audit=new.id)
    audits = WriteGuardianAudit.objects.using(db)
    audits.filter(retry_of=old.id).update(retry_of=new.id)
    new.rule_id, new.retry_of = new.rule_id or old.rule_id, new.retry_of or old.retry_of
    new.save(update_fields=["status", "rule_id", "retry_of"], **rows)
    GuardianReceipt.objects.using(db).filter(audit_id=old.id).update(audit_id=new.id)
    GuardianReceipt.objects.using(db).get_or_create(id=old.id, defaults={"audit_id": new.id, "body_sha256": ""})
    audits.filter(id=old.id).delete()


def find_current_id(db: str, audit_id: str) -> str:
    """Return the id of the current row of a write: its row may have been replaced."""
    if WriteGuardianAudit.objects.using(db).filter(id=audit_id).exists():
        return audit_id
    new_id = GuardianReceipt.objects.using(db).filter(id=audit_id).values_list("audit_id", flat=True).first()
    return new_id or audit_id
