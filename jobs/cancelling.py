"""What becomes of a job that somebody cancelled: its kind takes back what it does not keep, and says what stays."""

from typing import Any

import orjson
from django.utils.translation import gettext as _

from openclaw_web import clock

from . import kinds as job_kinds
from .models import JobRun


def end(job: JobRun) -> dict[str, Any]:
    """Take back what a cancelled run does not keep, on which nobody works any more; the columns its row ends with."""
    kind = job_kinds.find(job.kind)
    if kind and kind.undo:
        kind.undo(orjson.loads(job.params_json))
    with job.in_its_language():
        words = [_("Canceled by %(name)s.") % {"name": job.cancel_requested_by}, *([str(kind.kept)] if kind else [])]
    return {"state": JobRun.State.CANCELLED, "message": " ".join(words), "finished_at": clock.now_ms()}
