"""The statistics that somebody asked for: what may be asked together, and everything a page shows of it."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import Page

from . import drift, figures, judgments, prompts, reasons
from .figures import Daily, Figures, Period
from .judgments import Verdicts

MOST_DAYS = 1_000
ROWS = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: figures `by` one of figures.BY, of some days, and of one model, prompt version or session."""

    by: str
    period: Period
    model: str = ""
    prompt: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The figures, what changed, and what was said again and again.

    `rows` are a page of them; `daily` is what charts and totals are made of (of sessions:
    all sums of these days, whatever the session).
    """

    asked: Asked
    daily: Daily
    rows: Page
    total: Figures
    drifts: list[drift.Drift] = field(default_factory=list)
    prompt_changes: list[prompts.PromptChange] = field(default_factory=list)
    repeated: reasons.Groups | None = None
    verdicts: Verdicts | None = None


def asked(
    db: str, *, by: str, since: date | None = None, until: date | None = None, model: str = "", prompt: str = "",
    session: str = "",
) -> Asked:  # fmt: skip
    """What somebody asks for, with the usual days where none are named. Raises Refused for what cannot be told."""
    period = figures.period_of(db, since, until)
    if period.start > period.end:
        raise Refused(_("The first day is after the last day."))
    if period.days > MOST_DAYS:
        raise Refused(_("Statistics cover at most %(most)s days. Choose fewer days.") % {"most": f"{MOST_DAYS:,}"})
    if by == "session" and (model or prompt):
        raise Refused(_("Sessions are counted whole. Remove the model and the prompt version from the filters."))
    if by != "session" and session:
        raise Refused(_("Only statistics by session have this filter. Remove the session from the filters."))
    return Asked(by, period, model, prompt, session)


def answer(
    db: str, wanted: Asked, *, after: str | None = None, before: str | None = None, size: int = ROWS,
    with_reasons: bool = True,
) -> Answer:  # fmt: skip
    """Everything about what is asked for. The sums have to be whole: `sums.settle`."""
    only = {"model": wanted.model, "prompt": wanted.prompt}
    daily = figures.daily(db, wanted.period, **only)
    place: dict[str, Any] = {"after": after, "before": before, "size": size}
    if wanted.by == "session":
        rows = figures.sessions(db, wanted.period, session=wanted.session, **place)
    else:
        rows = figures.part_of(figures.rows_by(daily, wanted.by), **place)
    return Answer(
        wanted,
        daily,
        rows,
        rows[0].figures if wanted.session and rows else daily.total(),
        drift.drifts(db, daily, **only),
        prompts.changes(db, daily, model=wanted.model),
        reasons.groups(db, wanted.period, **only) if with_reasons else None,
        None if wanted.session else judgments.read(db, wanted.period, **only),
    )
