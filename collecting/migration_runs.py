"""Writes `migration_runs` and `migration_sources`, and reads which sessions imports exclude."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from openclaw_web import clock

from .models import MigrationRun, MigrationSource

Status = MigrationRun.Status
SESSION = "session"  # the kind of a row that excludes one session
CANCELLED = gettext_lazy("The run was canceled. Imports finished so far are kept. Run the import again to continue.")


def begin_run(*, root: str, by: str, before: dict[str, list[str]]) -> MigrationRun:
    """Create the row of a new run. The caller holds the lock.

    Rows that are still running then belong to interrupted runs. An interrupted or failed run may have imported
    sessions; the new run continues it and counts them as its own.
    """
    interrupted = list(MigrationRun.objects.filter(status=Status.RUNNING))
    for run in interrupted:
        if run.root == root:
            known = MigrationRun.before.decode_strictly(run.before_json)
            # An agent that did not exist at that time had no sessions.
            before = {agent: sorted(set(ids).intersection(known.get(agent, ()))) for agent, ids in before.items()}
    for failed in _find_failed_runs(root):
        own = failed.report.get("sessions", {})
        before = {agent: sorted(set(ids).difference(own.get(agent, ()))) for agent, ids in before.items()}
    sentence = _("The run was interrupted. The next run continued the import.")
    with transaction.atomic():
        for run in interrupted:
            finish_run(run, Status.FAILED, sentence, run.report)
        return MigrationRun.objects.create(
            id=str(ULID()),
            started_at=clock.now_ms(),
            root=root,
            made_by=by,
            before=before,
        )


def _find_failed_runs(root):
    """The runs of a home that failed after its last successful run."""
    rows = MigrationRun.objects.filter(root=root)
    ended_well = rows.exclude(status__in=(Status.FAILED, Status.RUNNING)).order_by("-started_at", "-id").first()
    failed = rows.filter(status=Status.FAILED).order_by("started_at", "id")
    return failed.filter(started_at__gte=ended_well.started_at) if ended_well else failed


def end_interrupted_runs() -> None:
    """Mark running runs as canceled. The caller holds the lock."""
    for run in MigrationRun.objects.filter(status=Status.RUNNING):
        finish_run(run, Status.FAILED, str(CANCELLED), run.report)


def store_report(run: MigrationRun, report: dict[str, Any]) -> None:
    """Store the report of a run in progress."""
    MigrationRun.objects.filter(id=run.id).update(report_json=MigrationRun.report.encode(report))


def finish_run(run: MigrationRun, status: str, message: str, report: dict[str, Any]) -> None:
    """Store the result of a run."""
    MigrationRun.objects.filter(id=run.id).update(
        status=status,
        message=message,
        finished_at=clock.now_ms(),
        report_json=MigrationRun.report.encode(report),
    )


def compute_source_key(root: str, name: str, mtime_ns: int, size: int, sha256: str, target: str) -> str:
    """The key of a source; a changed file has another key."""
    return hashlib.sha256("\0".join([root, name, str(mtime_ns), str(size), sha256, target]).encode()).hexdigest()


def compute_session_key(root: str, agent_id: str, session_id: str) -> str:
    """The key of a row that excludes one session."""
    return compute_source_key(root, f"{agent_id}/{session_id}", 0, 0, "", SESSION)


def save_sources(rows: Iterable[MigrationSource]) -> None:
    """Insert sources, or update the existing ones."""
    updated = [field.name for field in MigrationSource._meta.concrete_fields if field.name != "source_key"]
    MigrationSource.objects.bulk_create(
        rows, batch_size=500, update_conflicts=True, unique_fields=["source_key"], update_fields=updated
    )


def note_leaving(source: MigrationSource, how: str) -> None:
    """Note that the source is about to be moved or removed."""
    source.report |= {"leaving": how}
    source.save(update_fields=["report_json"])


def note_removed(source_key: str) -> None:
    """Note that the source is no longer in its place."""
    MigrationSource.objects.filter(source_key=source_key).update(removed_source=True)


def find_imported(root: str) -> dict[tuple[str, str], tuple[int, int]]:
    """The imported sources of a home by (path, target), with modification time and size."""
    rows = MigrationSource.objects.filter(root=root, status=MigrationSource.Status.IMPORTED).order_by("imported_at")
    values = rows.values_list("source_path", "target_table", "mtime_ns", "source_size_bytes")
    return {(path, target): (mtime, size) for path, target, mtime, size in values}


def find_partly_imported(root: str) -> set[str]:
    """Sources of a home whose last import rejected lines."""
    rows = MigrationSource.objects.filter(root=root).order_by("imported_at")
    reports = dict(rows.values_list("source_path", "report_json"))
    return {path for path, report in reports.items() if MigrationSource.report.decode(report).get("rejected")}


def read_skipped_tables(root: str) -> dict[str, list[dict[str, str]]]:
    """The skipped tables of the last import, by path of the database."""
    rows = MigrationSource.objects.filter(root=root, migration_kind="database").order_by("imported_at")
    reports = ((row.source_path, row.report) for row in rows.only("source_path", "report_json"))
    return {path: report["skipped_tables"] for path, report in reports if "skipped_tables" in report}


def find_ignored_sessions(root: Path) -> dict[str, frozenset[str]]:
    """Sessions by agent that `doctor --undo` removed; imports exclude them."""
    ignored: dict[str, set[str]] = {}
    rows = MigrationSource.objects.filter(root=str(root), status=MigrationSource.Status.IGNORED)
    decode = (
        MigrationSource.report.decode_strictly
    )  # a person excluded them, so a damaged row must not allow them again
    for agent_id, report in rows.values_list("agent_id", "report_json"):
        ignored.setdefault(agent_id, set()).update(decode(report).get("ignored_sessions", ()))
    return {agent_id: frozenset(ids) for agent_id, ids in ignored.items()}
