"""The end of a job that somebody canceled or stopped: its kind takes back what it does not keep."""

from typing import Any

from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.pages.formatting import join_sentences

from . import kinds as job_kinds
from .models import JobRun


def undo_cancelled(job: JobRun) -> dict[str, Any]:
    """Take back what a cancelled run does not keep, on which nobody works any more; the columns its row ends with."""
    with job.in_its_language():
        return _end(job, JobRun.State.CANCELLED, _("Canceled by %(name)s.") % {"name": job.cancel_requested_by})


def undo_stopped(job: JobRun) -> dict[str, Any]:
    """The same for a run whose terminal process has ended."""
    with job.in_its_language():
        sentence = _("Stopped: its process in the terminal has ended. Nothing is sent until a person starts it again.")
        return _end(job, JobRun.State.STOPPED, sentence)


def _end(job, state, sentence):
    kind = job_kinds.find_kind(job.kind)
    if kind and kind.undo:
        kind.undo(job.params)
    words = [sentence, *([str(kind.kept)] if kind else [])]
    return {"state": state, "message": join_sentences(words), "finished_at": clock.now_ms()}
