"""Reads the problems of the overview: few statements, and never a check."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.pages import formatting

from . import kinds
from .causes import build_followers, find_causes
from .models import Problem, ProblemCheck
from .words import ProblemDisplay, build_display, open_rows

MOST, MOST_OF_KIND = 8, 3
LOOKED_AT = 200  # the worst, of which those that are shown are chosen
COUNTED_UP_TO = 99
STALE_MS = 5 * 60_000


@dataclass(frozen=True, slots=True)
class ProblemPanel:
    """The worst problems that a person may see, and how many others there are.

    `stale` says that no check was made lately; `calm` is the one line where there are no problems. Both may be empty.
    """

    rows: list[ProblemDisplay]
    more: int
    stale: str
    calm: str


def build_problem_panel(user: Any, **whose: str) -> ProblemPanel:
    """Build the panel of a person: at most eight problems, the worst first; with `agent_id` those of an agent.

    More than three of one kind are shown where no other problem is left: one machine that was off makes every task
    overdue.
    """
    rows = list(open_rows().filter(kind__in=kinds.visible_to(user), **whose)[:LOOKED_AT])
    causes = find_causes(user, rows)
    worst = [row for row in rows if row.id not in causes]
    chosen = _choose(worst)
    followers = build_followers(chosen, causes, user)
    more = min(len(worst) - len(chosen), COUNTED_UP_TO + 1)
    stale = describe_stale()
    calm = "" if chosen or stale else describe_calm()
    return ProblemPanel([build_display(row, user, followers.get(row.id, ())) for row in chosen], more, stale, calm)


def _choose(rows):
    """Return the first three of each kind, and more where there is room."""
    counts: Counter[str] = Counter()
    first, others = [], []
    for place, row in enumerate(rows):
        counts[row.kind] += 1
        (first if counts[row.kind] <= MOST_OF_KIND else others).append(place)
    return [rows[place] for place in sorted([*first, *others][:MOST])]


def count_open(user: Any) -> int:
    """Return how many open problems are counted: up to one more than COUNTED_UP_TO.

    Those that follow from another one are not.
    """
    rows = Problem.objects.filter(state=Problem.State.OPEN, is_counted=True).exclude(id__in=find_causes(user))
    return len(rows.values_list("id")[: COUNTED_UP_TO + 1])


def describe_stale() -> str:
    """Return that no check was completed lately, and why; empty when one was."""
    checked_at = ProblemCheck.objects.filter(place="").values_list("checked_at", flat=True).first()
    if checked_at is not None and abs(clock.now_ms() - checked_at) < STALE_MS:
        return ""
    is_working = locks.is_held(settings.HOME_DIR / "state" / locks.WORKING)
    if checked_at is None and is_working:
        return _("The first check for problems is under way.")
    if checked_at is None:
        return _("Problems have not been checked yet; no worker is running. Start one with “openclaw-web serve”.")
    ago = formatting.ago(checked_at)
    if is_working:
        return format_html(_("Problems were last checked {ago}. The log of the worker says why."), ago=ago)
    sentence = _("Problems were last checked {ago}; no worker is running. Start one with “openclaw-web serve”.")
    return format_html(sentence, ago=ago)


def describe_calm() -> str:
    """Return the line that says that nothing is wrong."""
    imported_at = import_string(settings.LAST_IMPORT)()
    if imported_at is None:
        return _("Nothing needs you.")
    return format_html(_("Nothing needs you. Last import {ago}."), ago=formatting.ago(imported_at))
