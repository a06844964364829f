"""What ended long ago: runs of jobs, and receipts that nothing refers to, go after so many days; versions by number."""

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
MOST = 100_000  # of one round: the next one goes on
UNFINISHED = (DatasetExport.State.WAITING, DatasetExport.State.RUNNING)
IN_DOUBT = (MigrationRun.Status.RUNNING, MigrationRun.Status.FAILED)
NO_ARCHIVE = (BackupRun.Status.FAILED, BackupRun.Status.GONE)


def prune() -> int:
    """Remove what ended more days ago than the setting says, and versions that nobody needs; how many rows that were.

    With 0 days only versions and closed problems are removed.
    """
    days, count = configuration.get_number(DAYS_SETTING), _versions() + problems.prune_problems()
    if not days:
        return count
    before = clock.now_ms() - days * DAY_MS
    return count + _remove(_jobs(before)) + _remove(_doctor_runs(before)) + _remove(_backups(before))


def _versions():
    """Versions of memory files beyond those that are kept of each, of agents whose file can be used."""
    removed = 0
    for agent in Agent.objects.order_by("agent_id"):
        if db := databases.find_alias(agent.agent_id):
            removed += pruning_of_versions.prune_snapshots(db)
            connections[db].close()
    return removed


def _jobs(before):
    """Runs that ended, but for those that pages still tell of: the last ones of each kind, and of open exports."""
    kept = {job_id for kind in job_kinds.get_names() for job_id in _last_of(kind)}
    kept |= set(DatasetExport.objects.filter(state__in=UNFINISHED).values_list("job_id", flat=True))
    old = JobRun.objects.filter(created_at__lt=before, finished_at__lt=before, state__in=JobRun.ENDED)
    return old.exclude(id__in=kept - {None}).order_by("created_at", "id")


def _last_of(kind):
    """The ids of the last run of a kind, the last that ended well, and the last that the schedule started."""
    runs = JobRun.objects.filter(kind=kind).order_by("-created_at", "-id").values_list("id", flat=True)
    for columns in ({}, {"state": JobRun.State.FINISHED}, {"started_by": job_kinds.BY_SCHEDULE}):
        yield from runs.filter(**columns)[:1]


def _doctor_runs(before):
    """Receipts of runs whose sources were all read again by later ones; those after the last good one stay."""
    old = MigrationRun.objects.filter(started_at__lt=before, finished_at__lt=before)
    later = MigrationRun.objects.filter(root=OuterRef("root"), started_at__gt=OuterRef("started_at"))
    is_over = Exists(later.exclude(status__in=IN_DOUBT))
    return old.filter(is_over).exclude(Exists(MigrationSource.objects.filter(last_run=OuterRef("id")))).order_by("id")


def _backups(before):
    """Rows of backups that failed or whose archive is gone; the one that was proven last stays."""
    proven = BackupRun.objects.exclude(proven_at=None).order_by("-proven_at").values_list("id", flat=True)[:1]
    old = BackupRun.objects.filter(created_at__lt=before, status__in=NO_ARCHIVE)
    return old.exclude(id__in=list(proven)).order_by("created_at", "id")


def _remove(rows: QuerySet) -> int:
    """Remove rows in small transactions: whoever else writes waits for none of them long."""
    removed = 0
    while removed < MOST:
        ids = list(rows.values_list("pk", flat=True)[:BATCH])
        removed += _remove_these(rows.model, ids)
        if len(ids) < BATCH:
            break
    return removed


def _remove_these(model, ids: Iterable[str]) -> int:
    with transaction.atomic():
        return model.objects.filter(pk__in=ids).delete()[0] if ids else 0
