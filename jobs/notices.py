"""Notices about the jobs that a person started, above the pages that follow.

Each notice appears until a page has shown how its job ended. It is a message of Django's whose text is the id of the
job: the browser keeps it, the server stores nothing. A page that shows a job under way adds the message again for the
page after.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.pages.html import redirect_to

from . import kinds as job_kinds
from . import services as jobs
from .models import JobRun

TAG = "job"  # of messages about a job
MAX_NOTICES = 3  # on one page
LONGEST_MS = 60 * 60_000  # after this, notices stop polling: the next page says how the job ended
SENTENCE = re.compile(r"\s*(.+?[.!?…])(?=\s|$)")
LONGEST_SENTENCE = 300  # characters
TONES = {
    JobRun.State.FINISHED: "ok",
    JobRun.State.REFUSED: "bad",
    JobRun.State.FAILED: "bad",
    JobRun.State.CANCELLED: "warn",
    JobRun.State.STOPPED: "warn",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """One line about a job: `href` and `action` lead to its result, or to the job."""

    job: JobRun
    label: Any
    tone: str
    sentence: str
    href: str
    action: str
    is_polled: bool


@dataclass(frozen=True, slots=True)
class PageMessages:
    """The messages above a page: plain messages, and notices about jobs."""

    plain: list[Any]
    jobs: list[Notice]


def redirect_after_start(request: HttpRequest, job: JobRun, *, to: Any = None) -> HttpResponse:
    """Redirect to a started job, or to `to`; the next pages show a notice."""
    messages.info(request, job.id, extra_tags=TAG)
    return redirect_to(request, to or job)


def split_messages(stored_messages: Iterable[Any], request: HttpRequest | None) -> PageMessages:
    """Split the messages of a request into plain ones and notices about jobs.

    Notices show their jobs as of now. The page of a job has no notice about it: the page says more.
    """
    stored_messages = list(stored_messages)
    ids = list(dict.fromkeys(message.message for message in stored_messages if _is_job(message)))[-MAX_NOTICES:]
    if not ids:
        return PageMessages(stored_messages, [])
    known = {job.id: job for job in jobs.visible_to(request.user).filter(id__in=ids).defer("log", "result_json")}
    rows = [known[job_id] for job_id in ids if job_id in known]
    for job in rows:
        if not job.has_ended:
            messages.info(request, job.id, extra_tags=TAG)
    return PageMessages(
        [message for message in stored_messages if not _is_job(message)],
        [build_notice(job) for job in rows if request.path not in _own_addresses(job)],
    )


def build_notice(job: JobRun) -> Notice:
    """Return the notice about a job."""
    kind = job_kinds.find_kind(job.kind)
    result_address = kind.build_address(job.params) if kind and job.state == JobRun.State.FINISHED else None
    return Notice(
        job=job,
        label=job_kinds.get_label(job.kind),
        tone=TONES.get(job.state, "info"),
        sentence=_first_sentence(job.message) if job.has_ended else "",
        href=result_address or job.get_absolute_url(),
        action=_("View result") if result_address else _("View job"),
        is_polled=not job.has_ended and not is_old(job),
    )


def is_old(job: JobRun) -> bool:
    """Return whether a job was started so long ago that its notice does not poll."""
    return not clock.is_recent(clock.clamp(job.created_at), LONGEST_MS)


def mark_seen(request: HttpRequest, job: JobRun) -> None:
    """Remove the notice about a job from the next pages.

    A part of this page has just shown how the job ended.
    """
    for message in list(messages.get_messages(request)):
        if not (_is_job(message) and message.message == job.id):
            messages.add_message(request, message.level, message.message, extra_tags=message.extra_tags)


def _is_job(message):
    return message.extra_tags == TAG


def _own_addresses(job):
    """Return the addresses about this job alone: its page, and that of its result if any."""
    kind = job_kinds.find_kind(job.kind)
    result_address = kind.build_address(job.params) if kind and kind.page_params else None
    return job.get_absolute_url(), result_address


def _first_sentence(text):
    """Return the first sentence of a text, at most 300 characters of it."""
    match = SENTENCE.match(text)
    sentence = match[1] if match else text.strip()
    return sentence if len(sentence) <= LONGEST_SENTENCE else sentence[: LONGEST_SENTENCE - 1] + "…"


FILTERS = {"split_messages": split_messages}  # of templates
