"""Reads the statistics of a query: figures, changes, repeated reasons and verdicts."""

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
    """A query for figures of some days, grouped `by` one of GROUPINGS.

    Of one model, prompt version or session, if given.
    """

    by: str
    period: Period
    model: str = ""
    prompt: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class StatisticsResult:
    """The figures of a query, changes of the gate, and repeated reasons.

    `rows` are a page of figures; charts and totals are built from `daily` (for sessions: all sums of these days, of any
    session).
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
    """Build a query; without days it has the default period.

    Raises Refused for a query that cannot be answered.
    """
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
    db: str, query: StatisticsQuery, *, after: str | None = None, before: str | None = None, size: int = ROWS,
    with_reasons: bool = True,
) -> StatisticsResult:  # fmt: skip
    """Read everything that a query asks for.

    The sums must be complete: call `sums.ensure_complete` before.
    """
    filters = {"model": query.model, "prompt": query.prompt}
    daily = figures.read_daily_sums(db, query.period, **filters)
    page_args: dict[str, Any] = {"after": after, "before": before, "size": size}
    if query.by == "session":
        rows = figures.read_session_page(db, query.period, session=query.session, **page_args)
    else:
        rows = figures.slice_page(figures.build_rows(daily, query.by), **page_args)
    return StatisticsResult(
        query,
        daily,
        rows,
        rows[0].figures if query.session and rows else daily.total(),
        drift.find_drifts(db, daily, **filters),
        prompt_history.find_prompt_changes(db, daily, model=query.model),
        repeated_reasons.find_repeated_reasons(db, query.period, **filters) if with_reasons else None,
        None if query.session else verdict_summary.read_verdicts(db, query.period, **filters),
    )
