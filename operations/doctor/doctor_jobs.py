"""What pages and the API tell of the doctor's jobs: the last one, the one under way, and how one is asked for."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from collecting.models import MigrationRun
from jobs import services as jobs
from jobs.models import JobRun

KINDS = ("doctor_look", "doctor")
UNDOABLE_STATUSES = (MigrationRun.Status.COMPLETED, MigrationRun.Status.WARNING)


def find_last_job() -> JobRun | None:
    """The last look, or run, that ended well: its result is a receipt."""
    return _newest(state=JobRun.State.FINISHED)


def find_active_job() -> JobRun | None:
    """The one that waits or runs."""
    found = [_newest(state=state) for state in (JobRun.State.QUEUED, JobRun.State.RUNNING)]
    return max(filter(None, found), key=lambda job: (job.created_at, job.id), default=None)


def find_failed_job() -> JobRun | None:
    """The newest one that did not end well, when nothing newer did."""
    newest = _newest(finished_at__isnull=False)
    return newest if newest and newest.state != JobRun.State.FINISHED else None


def build_params(**wanted: Any) -> dict[str, Any]:
    """The parameters of a job on the configured home, spelled so that equal wishes are one job."""
    given = {name: value for name, value in wanted.items() if value and value != "keep"}
    return {"source": str(settings.STATE_DIR)} | given


def build_import_params(*, agent: str = "", session: str = "") -> dict[str, Any]:
    """The parameters of a job that imports again: a session of an agent, all of an agent, or all there is."""
    wanted: dict[str, Any] = {"source": str(settings.STATE_DIR), "again": True}
    return wanted | ({"agent": agent} if agent else {}) | ({"session": [session]} if session else {})


def describe_whereabouts(loss: dict[str, Any], *, is_after: bool) -> str:
    """Where what is lost can be had, as far as anybody has looked: `loss` is one of a receipt."""
    if loss["where"]:
        return _("Backup %(path)s") % {"path": loss["where"]}
    if is_after:
        return _("In no source and in none of the latest backups")
    if loss["in_sources"] is None:
        return _("Not searched yet: “Import and repair” searches backups")
    if loss["in_sources"] >= loss["missing"] + loss["different"]:
        return _("In its source: “Import and repair” restores the records")
    return _("%(count)s in its source; the rest has not been searched for yet") % {"count": loss["in_sources"]}


def _newest(**columns):
    return next(iter(jobs.find_latest(KINDS, 1, **columns)), None)
