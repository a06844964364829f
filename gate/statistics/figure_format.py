"""Figures for programs and for terminals: the rows of `reflection gate stats`, and the same as a table of text."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import duration, money, tokens

from . import sums
from .figures import FigureRow, Figures
from .statistics_query import MOST_DAYS, build_query, read_statistics
from .sum_changes import COUNT_COLUMNS

SHORT_NAMES = {decision: decision.removeprefix("UPDATE_") for decision in COUNT_COLUMNS}  # of columns
SMALLEST = 0.0001  # dollars


def read_table(
    db: str, *, by: str = "day", since: date | None = None, until: date | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """Figures by day, week, session, model or prompt as JSON-able rows, at most `limit` of them.

    Raises Refused when statistics are off, or not calculated yet.
    """
    if not sums.is_on():
        raise Refused(_("Statistics of decisions are turned off: memoryGateAuditing.enableStats is off."))
    if not sums.ensure_complete(db):
        raise Refused(_("Statistics of decisions are being calculated. Try again in a minute."))
    wanted = build_query(db, by=by, since=since, until=until)
    found = read_statistics(db, wanted, size=limit or MOST_DAYS, with_reasons=False)
    return [row_to_json(row) for row in found.rows[:limit]]


def row_to_json(row: FigureRow) -> dict[str, Any]:
    """A row of figures as programs get it."""
    first, last = (str(row.period.start), str(row.period.end)) if row.period else (None, None)
    days = {"first_day": first, "last_day": last}
    return {"key": row.key, **days, "first_at": row.first_at, "last_at": row.last_at, **figures_to_json(row.figures)}


def figures_to_json(figures: Figures) -> dict[str, Any]:
    """Figures as programs get them; what is not known of any decision is None."""
    return {
        "total": figures.total,
        "decisions": figures.counts,
        "shares": {decision: _rounded(figures.share(decision)) for decision in COUNT_COLUMNS},
        "p50_ms": figures.p50_ms,
        "p95_ms": figures.p95_ms,
        "latency_known": figures.of("latency_count"),
        "prompt_tokens": figures.prompt_tokens,
        "completion_tokens": figures.completion_tokens,
        "tokens_known": figures.of("token_count"),
        "cost_usd": figures.cost_usd,
        "cost_known": figures.of("cost_count"),
        "failed": figures.of("failed_count"),
        "malformed": figures.of("malformed_count"),
        "unseen": figures.of("unseen_count"),
    }


def format_lines(rows: Sequence[dict[str, Any]], *, by: str = "day") -> list[str]:
    """Rows of `table` as lines of text, the names of columns first."""
    first = {"day": _("Day"), "week": _("Week"), "session": _("Session"), "model": _("Model"), "prompt": _("Prompt")}
    heads = [
        first[by],
        _("Decisions"),
        *SHORT_NAMES.values(),
        _("p50"),
        _("p95"),
        _("Tokens"),
        _("Cost"),
        _("Failures"),
    ]
    cells = [heads, *(_cells(row, by) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    return ["  ".join(_aligned(line, widths)).rstrip() for line in cells]


def format_key(key: str, by: str) -> str:
    """What a row is called: a week is `2026-W07`."""
    if by == "week":
        year, week, _day = date.fromisoformat(key).isocalendar()
        return f"{year}-W{week:02}"
    return key or _("not known")


def format_share(part: int, whole: int) -> str:
    """`34%`, `<1%`, `–` of nothing."""
    if not whole:
        return "–"
    return "<1%" if 0 < 100 * part < whole else f"{100 * part / whole:.0f}%"


def format_cost(usd: float | None) -> str:
    """`$0.0016`, `<$0.0001`; `–` for a cost that is not known, which is not nothing."""
    if usd is None:
        return "–"
    return f"<${SMALLEST}" if 0 < usd < SMALLEST else money(usd)


def _cells(row, by):
    known = row["tokens_known"]
    both = (row["prompt_tokens"] + row["completion_tokens"]) if known else None
    counts = (f"{count} ({format_share(count, row['total'])})" if count else "0" for count in row["decisions"].values())
    amounts_ = (duration(row["p50_ms"]), duration(row["p95_ms"]), tokens(both), format_cost(row["cost_usd"]))
    return [format_key(row["key"], by), f"{row['total']:,}", *counts, *amounts_, str(row["failed"] + row["malformed"])]


def _aligned(line, widths):
    """The first cell to the left, numbers to the right."""
    numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return [line[0].ljust(widths[0]), *numbers]


def _rounded(value):
    return None if value is None else round(value, 4)
