"""What becomes of the jobs that somebody started, above the pages they see next, until each outcome was shown once.

A job that was started is a message of Django's whose text is its id: the browser keeps it, nothing is written here. A
page that shows one that has not ended keeps it for the page after.
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

TAG = "job"  # of messages that are about one
MAX_NOTICES = 3  # on one page
LONGEST_MS = 60 * 60_000  # after its start nobody waits for a notice to change: the next page says what became of it
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
    """A job in one line: `href` and `action` lead to what it has made, or to the job."""

    job: JobRun
    label: Any
    tone: str
    sentence: str
    href: str
    action: str
    is_polled: bool


@dataclass(frozen=True, slots=True)
class PageMessages:
    """What stands above a page: plain messages, and jobs."""

    plain: list[Any]
    jobs: list[Notice]


def redirect_after_start(request: HttpRequest, job: JobRun, *, to: Any = None) -> HttpResponse:
    """Go to the page of a job that was started, or to `to`; what becomes of it is said above the pages after."""
    messages.info(request, job.id, extra_tags=TAG)
    return redirect_to(request, to or job)


def split_messages(found: Iterable[Any], request: HttpRequest | None) -> PageMessages:
    """The messages of a request, each job among them as it is now.

    Not those whose own page this is: that says more.
    """
    found = list(found)
    ids = list(dict.fromkeys(one.message for one in found if _is_job(one)))[-MAX_NOTICES:]
    if not ids:
        return PageMessages(found, [])
    known = {job.id: job for job in jobs.visible_to(request.user).filter(id__in=ids).defer("log", "result_json")}
    rows = [known[one] for one in ids if one in known]
    for job in rows:
        if not job.has_ended:
            messages.info(request, job.id, extra_tags=TAG)
    return PageMessages(
        [one for one in found if not _is_job(one)], [build_notice(job) for job in rows if request.path not in _own(job)]
    )


def build_notice(job: JobRun) -> Notice:
    """A job as a notice."""
    kind = job_kinds.find_kind(job.kind)
    made = kind.address(job.params) if kind and job.state == JobRun.State.FINISHED else None
    return Notice(
        job=job,
        label=job_kinds.get_label(job.kind),
        tone=TONES.get(job.state, "info"),
        sentence=_first(job.message) if job.has_ended else "",
        href=made or job.get_absolute_url(),
        action=_("View result") if made else _("View job"),
        is_polled=not job.has_ended and not is_old(job),
    )


def is_old(job: JobRun) -> bool:
    """Whether it was started so long ago that no notice waits for it."""
    return not clock.is_recent(clock.clamp(job.created_at), LONGEST_MS)


def mark_seen(request: HttpRequest, job: JobRun) -> None:
    """No page after this says what became of a job: a part of a page has just said it."""
    for one in list(messages.get_messages(request)):
        if not (_is_job(one) and one.message == job.id):
            messages.add_message(request, one.level, one.message, extra_tags=one.extra_tags)


def _is_job(message):
    return message.extra_tags == TAG


def _own(job):
    """The addresses that are about this job alone: its page, and that of the one thing it makes."""
    kind = job_kinds.find_kind(job.kind)
    made = kind.address(job.params) if kind and kind.page_params else None
    return job.get_absolute_url(), made


def _first(text):
    """The first sentence."""
    found = SENTENCE.match(text)
    sentence = found[1] if found else text.strip()
    return sentence if len(sentence) <= LONGEST_SENTENCE else sentence[: LONGEST_SENTENCE - 1] + "…"


FILTERS = {"said": split_messages}  # of templates
