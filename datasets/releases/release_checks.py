"""The job that compares a release with what was released."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from openclaw_web.errors import Refused

from ..models import DatasetVersion
from .verification import verify

JOB_KIND = "dataset_verify"


def start_verify(version: DatasetVersion, *, by: str) -> JobRun:
    """Queue the comparison of a release, or return the job under way."""
    return jobs.start(JOB_KIND, {"version_id": version.id}, by=by)


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compare the release `params["version_id"]`. Raises Refused when there is none."""
    released = DatasetVersion.State.RELEASED
    version = DatasetVersion.objects.filter(id=params["version_id"], state=released).first()
    if version is None:
        raise Refused(_("There is no such release. A release can be compared once it is complete."))
    return verify(version, lambda count: progress.update(count, version.member_count))


JOB = Kind(
    run=run,
    label=gettext_lazy("Check of a release"),
    audit_text=gettext_lazy("started the check of a release"),
    cancel_text=gettext_lazy("No result is recorded."),
    describe_result=lambda result: str(result["message"]),
)
