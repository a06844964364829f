"""Pruning of old job runs and receipts, except those the site still shows."""

import pytest

from collecting.models import MigrationRun, MigrationSource
from jobs.models import JobRun
from openclaw_web import clock
from operations import pruning
from operations.models import BackupRun
from people.configuration import setting_values as configuration
from tests.factories import ExportFactory, JobFactory

pytestmark = pytest.mark.django_db
DAY = 86_400_000


def create_job(name, days, **columns):
    """Create a run of a job that ended this many days ago."""
    at = clock.now_ms() - days * DAY
    given = {"kind": "collect", "state": "finished", "created_at": at, "finished_at": at, "started_by": "ada"}
    return JobFactory(id=name, **given | columns)


def list_job_ids():
    return set(JobRun.objects.values_list("id", flat=True))


def test_what_the_site_tells_of_stays():
    create_job("last, refused", 100, state="refused")
    create_job("last that ended well", 200)
    create_job("last of the schedule", 300, started_by="schedule")
    create_job("another", 400)
    create_job("under way", 500, state="running", finished_at=None)
    create_job("waits", 500, state="queued", finished_at=None)
    create_job("of an open export", 500)
    ExportFactory(id="e1", state="running", job_id="of an open export")
    assert pruning.prune() == 1
    assert "another" not in list_job_ids()
    assert len(list_job_ids()) == 6


def test_days_are_a_setting():
    create_job("newest", 9)
    create_job("old", 10)
    configuration.put(pruning.DAYS_SETTING, 0)
    assert pruning.prune() == 0
    configuration.put(pruning.DAYS_SETTING, 11)
    assert pruning.prune() == 0
    configuration.put(pruning.DAYS_SETTING, 8)
    assert (pruning.prune(), list_job_ids()) == (1, {"newest"})


def test_old_runs_go_many_in_small_transactions():
    create_job("newest", 91)
    create_job("young", 89, kind="backup")
    JobRun.objects.bulk_create(
        JobRun(id=f"{number:05}", kind="collect", state="finished", created_at=number, finished_at=number)
        for number in range(1_700)
    )
    assert (pruning.prune(), list_job_ids()) == (1_700, {"newest", "young"})


def create_doctor_run(name, days, **columns):
    at = clock.now_ms() - days * DAY
    given = {"status": "completed", "root": "/home", "started_at": at, "finished_at": at}
    return MigrationRun.objects.create(id=name, **given | columns)


def test_receipts_of_the_doctor_that_nothing_refers_to_go():
    referred = create_doctor_run("referred to", 400)
    MigrationSource.objects.create(source_key="x", last_run=referred, status="imported", migration_kind="transcript")
    create_doctor_run("over", 300)
    create_doctor_run("last good one", 200)
    create_doctor_run("failed since", 150, status="failed")
    create_doctor_run("of another home", 500, root="/other")
    assert pruning.prune() == 1
    expected = {"referred to", "last good one", "failed since", "of another home"}
    assert set(MigrationRun.objects.values_list("id", flat=True)) == expected


def create_backup(name, days, **columns):
    BackupRun.objects.create(id=name, created_at=clock.now_ms() - days * DAY, **columns)


def test_rows_of_backups_that_are_gone_go_but_never_the_last_proof():
    create_backup("usable", 900, status="verified")
    create_backup("proven last", 800, status="gone", proven_at=clock.now_ms() - 95 * DAY)
    create_backup("gone", 700, status="gone", proven_at=clock.now_ms() - 600 * DAY)
    create_backup("failed", 600, status="failed")
    create_backup("failed lately", 10, status="failed")
    assert pruning.prune() == 2
    assert set(BackupRun.objects.values_list("id", flat=True)) == {"usable", "proven last", "failed lately"}
