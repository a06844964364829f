"""What needs doing, found with few queries: the number beside System in the rail, and the page that it leads to."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs import ticking
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.disk import reserve
from openclaw_web.pages.templates import url_or_none

from ..backups import runs
from . import gates

WAITED_MS = 10 * 60_000  # a job that is not begun for so long has no worker


@dataclass(frozen=True, slots=True)
class Need:
    """Something to do: a sentence, what it is about, and the page where it is done (or nothing)."""

    about: str
    sentence: str
    href: str = ""


def found() -> list[Need]:
    """All of it, the most urgent first."""
    return [*_disk(), *_waiting(), *_failed(), *_gates(), *_unproven()]


def in_words(needs: list[Need]) -> str:
    """How many there are."""
    return ngettext("%(count)s problem", "%(count)s problems", len(needs)) % {"count": len(needs)}


def _disk():
    if reserve.is_short(settings.HOME_DIR):
        sentence = _("%(folder)s has almost no free space left.") % {"folder": settings.HOME_DIR}
        yield Need(_("Disk"), sentence)


def _waiting():
    now = clock.now_ms()
    has_waited = Q(created_at__lt=now - WAITED_MS) | Q(created_at__gt=now + WAITED_MS)  # nobody knows how long
    queued = JobRun.objects.filter(has_waited, state=JobRun.State.QUEUED)
    if queued.exists() and not JobRun.objects.filter(state=JobRun.State.RUNNING).exists():
        sentence = _("Jobs are queued, but no worker runs them. “openclaw-web serve” starts a worker.")
        yield Need(_("Jobs"), sentence, reverse("jobs:job_list"))


def _failed():
    for task in ticking.states():
        if task.every_ms and task.last and task.last.state in (JobRun.State.FAILED, JobRun.State.REFUSED):
            sentence = task.last.message or _("The last run failed.")
            yield Need(str(task.label), sentence, task.last.get_absolute_url())


def _gates():
    for agent_id, notice in gates.notices():
        page = url_or_none(notice.route, agent_id, *notice.args) or ""
        href = f"{page}?{notice.query}" if page and notice.query else page
        about = (
            _("Memory files of %(agent)s") if notice.route.startswith("guardian:") else _("Memory gate of %(agent)s")
        )
        yield Need(about % {"agent": agent_id}, notice.sentence, href)


def _unproven():
    proven_at = runs.last_proven()
    if runs.is_overdue(proven_at):
        yield Need(_("Backups"), runs.advice(proven_at), reverse("operations:backup_list"))
