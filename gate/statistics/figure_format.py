"""Formats figures for JSON and terminals: the rows of `reflection gate stats`."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import duration, money, tokens

from . import sums
from .figures import FigureRow, Figures
from .statistics_query import MOST_DAYS, build_query, read_statistics
from .sums import COUNT_COLUMNS

SHORT_NAMES = {decision: decision.removeprefix("UPDATE_") for decision in COUNT_COLUMNS}  # names of columns
SMALLEST = 0.0001  # US dollars


def read_table(
    db: str, *, by: str = "day", since: date | None = None, until: date | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """Return figures by day, week, session, model or prompt as JSON-able rows.

    At most `limit` rows. Raises Refused when statistics are off, or not calculated yet.
    """
    if not sums.is_on():
        raise Refused(_("Statistics of decisions are turned off: memoryGateAuditing.enableStats is off."))
    if not sums.ensure_complete(db):
        raise Refused(_("Statistics of decisions are being calculated. Try again in a minute."))
    query = build_query(db, by=by, since=since, until=until)
    result = read_statistics(db, query, size=limit or MOST_DAYS, with_reasons=False)
    return [row_to_json(row) for row in result.rows[:limit]]


def row_to_json(row: FigureRow) -> dict[str, Any]:
    """Return a row of figures as JSON-able values."""
    first, last = (str(row.period.start), str(row.period.end)) if row.period else (None, None)
    days = {"first_day": first, "last_day": last}
    return {"key": row.key, **days, "first_at": row.first_at, "last_at": row.last_at, **figures_to_json(row.figures)}


def figures_to_json(figures: Figures) -> dict[str, Any]:
    """Return figures as JSON-able values; None where a value of no decision is known."""
    shares = {decision: figures.share(decision) for decision in COUNT_COLUMNS}
    return {
        "total": figures.total,
        "decisions": figures.counts,
        "shares": {name: share if share is None else round(share, 4) for name, share in shares.items()},
        "p50_ms": figures.p50_ms,
        "p95_ms": figures.p95_ms,
        "latency_known": figures.get_number("latency_count"),
        "prompt_tokens": figures.prompt_tokens,
        "completion_tokens": figures.completion_tokens,
        "tokens_known": figures.get_number("token_count"),
        "cost_usd": figures.cost_usd,
        "cost_known": figures.get_number("cost_count"),
        "failed": figures.get_number("failed_count"),
        "malformed": figures.get_number("malformed_count"),
        "unseen": figures.get_number("unseen_count"),
    }


def format_lines(rows: Sequence[dict[str, Any]], *, by: str = "day") -> list[str]:
    """Return rows of `read_table` as lines of text, the names of columns first."""
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
    cells = [heads, *(_build_cells(row, by) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    return ["  ".join(_align(line, widths)).rstrip() for line in cells]


def format_key(key: str, by: str) -> str:
    """Return the name of a row: a week is `2026-W07`."""
    if by == "week":
        year, week, _day = date.fromisoformat(key).isocalendar()
        return f"{year}-W{week:02}"
    return key or _("not known")


def format_share(part: int, whole: int) -> str:
    """Return a share: `34%`, `<1%`, or `–` of nothing."""
    if not whole:
        return "–"
    return "<1%" if 0 < 100 * part < whole else f"{100 * part / whole:.0f}%"


def format_cost(usd: float | None) -> str:
    """Return a cost: `$0.0016`, `<$0.0001`, or `–` when it is not known."""
    if usd is None:
        return "–"
    return f"<${SMALLEST}" if 0 < usd < SMALLEST else money(usd)


def _build_cells(row, by):
    known = row["tokens_known"]
    both = (row["prompt_tokens"] + row["completion_tokens"]) if known else None
    counts = (f"{count} ({format_share(count, row['total'])})" if count else "0" for count in row["decisions"].values())
    amounts_ = (duration(row["p50_ms"]), duration(row["p95_ms"]), tokens(both), format_cost(row["cost_usd"]))
    return [format_key(row["key"], by), f"{row['total']:,}", *counts, *amounts_, str(row["failed"] + row["malformed"])]


def _align(line, widths):
    """Align the first cell to the left, and numbers to the right."""
    numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return [line[0].ljust(widths[0]), *numbers]
