"""Removes old job runs, receipts and backup rows, and superfluous versions of memory files."""

from collections.abc import Iterable

from django.db import connections, transaction
from django.db.models import Exists, OuterRef, QuerySet

from agents import databases
from agents.models import Agent
from collecting.models import MigrationRun, MigrationSource
from datasets.models import DatasetExport
from guardian.recording import snapshot_pruning as pruning_of_versions
from jobs import kinds as job_kinds
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import setting_values as configuration
from problems import problem_store as problems

from .models import BackupRun

DAYS_SETTING = "jobs.retentionDays"
DAY_MS = 86_400_000
BATCH = 500
MOST = 100_000  # maximum of rows in one round; the next round continues
UNFINISHED = (DatasetExport.State.WAITING, DatasetExport.State.RUNNING)
IN_DOUBT = (MigrationRun.Status.RUNNING, MigrationRun.Status.FAILED)
NO_ARCHIVE = (BackupRun.Status.FAILED, BackupRun.Status.GONE)


def prune() -> int:
    """Remove rows older than the setting, and superfluous versions; returns how many.

    With 0 days only versions and closed problems are removed.
    """
    removed = 0
    for agent in Agent.objects.order_by("agent_id"):
        if db := databases.find_alias(agent.agent_id):
            removed += pruning_of_versions.prune_snapshots(db)
            connections[db].close()
    days, count = configuration.get_number(DAYS_SETTING), removed + problems.prune_problems()
    if not days:
        return count
    before = clock.now_ms() - days * DAY_MS
    # Old finished job runs that no page shows.
    kept_ids = {job_id for kind in job_kinds.get_names() for job_id in _find_last_runs(kind)}
    kept_ids |= set(DatasetExport.objects.filter(state__in=UNFINISHED).values_list("job_id", flat=True))
    old = JobRun.objects.filter(created_at__lt=before, finished_at__lt=before, state__in=JobRun.ENDED)
    return (
        count
        + _remove_rows(old.exclude(id__in=kept_ids - {None}).order_by("created_at", "id"))
        + _remove_rows(_find_old_doctor_runs(before))
        + _remove_rows(_find_old_backups(before))
    )


def _find_last_runs(kind):
    """The ids of a kind's last run, last successful run, and last scheduled run."""
    runs = JobRun.objects.filter(kind=kind).order_by("-created_at", "-id").values_list("id", flat=True)
    for columns in ({}, {"state": JobRun.State.FINISHED}, {"started_by": job_kinds.BY_SCHEDULE}):
        yield from runs.filter(**columns)[:1]


def _find_old_doctor_runs(before):
    """Old doctor runs whose sources later runs have all read again.

    Runs after the last successful one are kept.
    """
    old = MigrationRun.objects.filter(started_at__lt=before, finished_at__lt=before)
    later = MigrationRun.objects.filter(root=OuterRef("root"), started_at__gt=OuterRef("started_at"))
    is_over = Exists(later.exclude(status__in=IN_DOUBT))
    return old.filter(is_over).exclude(Exists(MigrationSource.objects.filter(last_run=OuterRef("id")))).order_by("id")


def _find_old_backups(before):
    """Rows of failed and missing backups, except the backup that was restored last."""
    proven = BackupRun.objects.exclude(proven_at=None).order_by("-proven_at").values_list("id", flat=True)[:1]
    old = BackupRun.objects.filter(created_at__lt=before, status__in=NO_ARCHIVE)
    return old.exclude(id__in=list(proven)).order_by("created_at", "id")


def _remove_rows(rows: QuerySet) -> int:
    """Remove rows in small transactions, so that other writers do not wait long."""
    removed = 0
    while removed < MOST:
        ids = list(rows.values_list("pk", flat=True)[:BATCH])
        removed += _remove_batch(rows.model, ids)
        if len(ids) < BATCH:
            break
    return removed


def _remove_batch(model, ids: Iterable[str]) -> int:
    with transaction.atomic():
        return model.objects.filter(pk__in=ids).delete()[0] if ids else 0
