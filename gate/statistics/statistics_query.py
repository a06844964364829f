"""The statistics that somebody asked for: what may be asked together, and everything a page shows of it."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import Page

from . import drift, figures, prompt_history, repeated_reasons, verdict_summary
from .figures import DailySums, Figures, Period
from .verdict_summary import VerdictSummary

MOST_DAYS = 1_000
ROWS = 30


@dataclass(frozen=True, slots=True)
class StatisticsQuery:
    """What is asked for: figures `by` one of figures.BY, of some days, and of one model, prompt version or session."""

    by: str
    period: Period
    model: str = ""
    prompt: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class StatisticsResult:
    """The figures, what changed, and what was said again and again.

    `rows` are a page of them; `daily` is what charts and totals are made of (of sessions:
    all sums of these days, whatever the session).
    """

    query: StatisticsQuery
    daily: DailySums
    rows: Page
    total: Figures
    drifts: list[drift.Drift] = field(default_factory=list)
    prompt_changes: list[prompt_history.PromptChange] = field(default_factory=list)
    repeated: repeated_reasons.ReasonGroups | None = None
    verdicts: VerdictSummary | None = None


def build_query(
    db: str, *, by: str, since: date | None = None, until: date | None = None, model: str = "", prompt: str = "",
    session: str = "",
) -> StatisticsQuery:  # fmt: skip
    """What somebody asks for, with the usual days where none are named. Raises Refused for what cannot be told."""
    period = figures.resolve_period(db, since, until)
    if period.start > period.end:
        raise Refused(_("The first day is after the last day."))
    if period.days > MOST_DAYS:
        raise Refused(_("Statistics cover at most %(most)s days. Choose fewer days.") % {"most": f"{MOST_DAYS:,}"})
    if by == "session" and (model or prompt):
        raise Refused(_("Sessions are counted whole. Remove the model and the prompt version from the filters."))
    if by != "session" and session:
        raise Refused(_("Only statistics by session have this filter. Remove the session from the filters."))
    return StatisticsQuery(by, period, model, prompt, session)


def read_statistics(
    db: str, wanted: StatisticsQuery, *, after: str | None = None, before: str | None = None, size: int = ROWS,
    with_reasons: bool = True,
) -> StatisticsResult:  # fmt: skip
    """Everything about what is asked for. The sums have to be whole: `sums.settle`."""
    only = {"model": wanted.model, "prompt": wanted.prompt}
    daily = figures.read_daily_sums(db, wanted.period, **only)
    place: dict[str, Any] = {"after": after, "before": before, "size": size}
    if wanted.by == "session":
        rows = figures.read_session_page(db, wanted.period, session=wanted.session, **place)
    else:
        rows = figures.slice_page(figures.build_rows(daily, wanted.by), **place)
    return StatisticsResult(
        wanted,
        daily,
        rows,
        rows[0].figures if wanted.session and rows else daily.total(),
        drift.find_drifts(db, daily, **only),
        prompt_history.find_prompt_changes(db, daily, model=wanted.model),
        repeated_reasons.find_repeated_reasons(db, wanted.period, **only) if with_reasons else None,
        None if wanted.session else verdict_summary.read_verdicts(db, wanted.period, **only),
    )
