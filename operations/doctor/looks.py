"""What pages and the API tell of the doctor's jobs: the last one, the one under way, and how one is asked for."""

from typing import Any

import orjson
from django.conf import settings

from operations import jobs
from operations.models import JobRun, MigrationRun

KINDS = ("doctor_look", "doctor")
UNDOABLE = (MigrationRun.Status.COMPLETED, MigrationRun.Status.WARNING)


def last() -> JobRun | None:
    """The last look, or run, that ended well: its result is a receipt."""
    return _newest(state=JobRun.State.FINISHED)


def under_way() -> JobRun | None:
    """The one that waits or runs."""
    found = [_newest(state=state) for state in (JobRun.State.QUEUED, JobRun.State.RUNNING)]
    return max(filter(None, found), key=lambda job: (job.created_at, job.id), default=None)


def broken() -> JobRun | None:
    """The newest one that did not end well, when nothing newer did."""
    newest = _newest(finished_at__isnull=False)
    return newest if newest and newest.state != JobRun.State.FINISHED else None


def receipt(job: JobRun) -> dict[str, Any]:
    """What a job found."""
    return orjson.loads(job.result_json or "{}")


def asked(**wanted: Any) -> dict[str, Any]:
    """The parameters of a job on the configured home, spelled so that equal wishes are one job."""
    given = {name: value for name, value in wanted.items() if value and value != "keep"}
    return {"source": str(settings.STATE_DIR)} | given


def _newest(**columns):
    return next(iter(jobs.latest(KINDS, 1, **columns)), None)
