"""The end of a canceled or stopped job, of which its kind keeps some results."""

from typing import Any

from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.sentences import join_sentences

from . import kinds as job_kinds
from .models import JobRun


def undo_cancelled(job: JobRun) -> dict[str, Any]:
    """Take back what a canceled job does not keep, and return its last columns.

    No process may work on the job any more.
    """
    with job.in_its_language():
        return _undo_job(job, JobRun.State.CANCELLED, _("Canceled by %(name)s.") % {"name": job.cancel_requested_by})


def undo_stopped(job: JobRun) -> dict[str, Any]:
    """Do the same for a run whose process in a terminal has ended."""
    with job.in_its_language():
        sentence = _("Stopped: its process in the terminal has ended. Nothing is sent until a person starts it again.")
        return _undo_job(job, JobRun.State.STOPPED, sentence)


def _undo_job(job, state, sentence):
    kind = job_kinds.find_kind(job.kind)
    if kind and kind.undo:
        kind.undo(job.params)
    sentences = [sentence, *([str(kind.cancel_text)] if kind else [])]
    return {"state": state, "message": join_sentences(sentences), "finished_at": clock.now_ms()}
