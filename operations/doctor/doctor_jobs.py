"""Jobs of the doctor for pages and the API: the last, the active, and their parameters."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from collecting.models import MigrationRun
from jobs import services as jobs
from jobs.models import JobRun

KINDS = ("doctor_look", "doctor")
UNDOABLE_STATUSES = (MigrationRun.Status.COMPLETED, MigrationRun.Status.WARNING)


def find_last_job() -> JobRun | None:
    """The last check or run that succeeded; its result is a receipt."""
    return _find_newest(state=JobRun.State.FINISHED)


def find_active_job() -> JobRun | None:
    """The queued or running job."""
    active_jobs = [_find_newest(state=state) for state in (JobRun.State.QUEUED, JobRun.State.RUNNING)]
    return max(filter(None, active_jobs), key=lambda job: (job.created_at, job.id), default=None)


def find_failed_job() -> JobRun | None:
    """The newest job when it failed or was canceled."""
    newest = _find_newest(finished_at__isnull=False)
    return newest if newest and newest.state != JobRun.State.FINISHED else None


def build_params(**options: Any) -> dict[str, Any]:
    """The parameters of a job on the configured home.

    Defaults are left out, so that equal requests are one job.
    """
    given = {name: value for name, value in options.items() if value and value != "keep"}
    return {"source": str(settings.STATE_DIR)} | given


def build_import_params(*, agent: str = "", session: str = "") -> dict[str, Any]:
    """The parameters of a repeated import: of one session, one agent, or everything."""
    return build_params(again=True, agent=agent, session=[session] if session else [])


def describe_whereabouts(loss: dict[str, Any], *, is_after: bool) -> str:
    """Describe where lost records can be recovered, as far as that was searched.

    `loss` is an entry of a receipt; `is_after` is set after a run.
    """
    if loss["where"]:
        return _("Backup %(path)s") % {"path": loss["where"]}
    if is_after:
        return _("In no source and in none of the latest backups")
    if loss["in_sources"] is None:
        return _("Not searched yet: “Import and repair” searches backups")
    if loss["in_sources"] >= loss["missing"] + loss["different"]:
        return _("In its source: “Import and repair” restores the records")
    return _("%(count)s in its source; the rest has not been searched for yet") % {"count": loss["in_sources"]}


def _find_newest(**columns):
    return next(iter(jobs.find_latest(KINDS, 1, **columns)), None)
