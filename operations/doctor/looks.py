"""What pages and the API tell of the doctor's jobs: the last one, the one under way, and how one is asked for."""

from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet

from operations.models import JobRun, MigrationRun

KINDS = ("doctor_look", "doctor")
UNDOABLE = (MigrationRun.Status.COMPLETED, MigrationRun.Status.WARNING)


def last() -> JobRun | None:
    """The last look, or run, that ended well: its result is a receipt."""
    return _jobs().filter(state=JobRun.State.FINISHED).first()


def under_way() -> JobRun | None:
    """The one that waits or runs."""
    waiting = (JobRun.State.QUEUED, JobRun.State.RUNNING)
    return _jobs().filter(state__in=waiting).defer("log", "result_json").first()


def broken() -> JobRun | None:
    """The newest one that did not end well, when nothing newer did."""
    newest = _jobs().filter(finished_at__isnull=False).defer("log", "result_json").first()
    return newest if newest and newest.state != JobRun.State.FINISHED else None


def receipt(job: JobRun) -> dict[str, Any]:
    """What a job found."""
    return orjson.loads(job.result_json or "{}")


def asked(**wanted: Any) -> dict[str, Any]:
    """The parameters of a job on the configured home, spelled so that equal wishes are one job."""
    given = {name: value for name, value in wanted.items() if value and value != "keep"}
    return {"source": str(settings.STATE_DIR)} | given


def _jobs() -> QuerySet[JobRun]:
    return JobRun.objects.filter(kind__in=KINDS).order_by("-created_at", "-id").defer("log")
