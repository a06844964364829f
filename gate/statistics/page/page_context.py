"""Context of the page of statistics: numbers as text, with links to their rows."""

from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.models import Session
from openclaw_web.pages import states
from openclaw_web.pages.formatting import day_in_words, days_in_words, duration, number, tokens

from ...lists.list_context import EXACT_PREFIX
from ..figure_format import SHORT_NAMES, format_cost, format_key, format_share
from ..figures import Figures, Period
from ..repeated_reasons import normalise_reason
from ..statistics_query import StatisticsResult
from ..sums import COUNT_COLUMNS
from ..verdict_summary import VerdictCount, VerdictSummary
from .addresses import RowAddresses, build_prompt_address
from .chart import build_chart, build_verdict_strip


class Cell(NamedTuple):
    """A number as text, the address of its rows (None: no link), and a note."""

    text: str
    href: str | None = None
    note: str = ""


class Line(NamedTuple):
    """A row of the table: its name, the name's link, and its numbers."""

    name: str
    href: str | None
    title: str  # on hover
    cells: list[Cell]


def build_page_context(agent: Agent, result: StatisticsResult) -> dict[str, Any]:
    """Build the context of a result's page."""
    query = result.query
    addresses = RowAddresses(agent.agent_id, model=query.model, prompt=query.prompt)
    session_addresses = RowAddresses(agent.agent_id, session=query.session)
    tiles = _build_cells(
        result.total, session_addresses if query.session else addresses, None if query.session else query.period
    )
    named = list(zip(heads(), tiles, strict=True))
    return {
        "tiles": [(name, cell) for name, cell in named if cell.text != "0"],
        "zeros": [str(name) for name, cell in named if cell.text == "0"],
        "blind": _build_blind_warning(result.total, named[-1][1].href),
        "heads": heads(),
        "short_heads": short_heads(),
        "lines": list(_build_lines(agent, result, addresses)),
        "chart": build_chart(result, addresses),
        "changes": [_build_prompt_change(agent, change, addresses) for change in result.prompt_changes],
        "drifts": [_build_drift(drift, addresses) for drift in result.drifts],
        "repeated": _build_repeated(result, addresses),
        **(
            _build_verdicts(result, result.verdicts, addresses)
            if result.verdicts
            else {"judged": [], "unjudged": 0, "strip": None}
        ),
    }


def _build_repeated(result, addresses):
    """Return each repeated reason once, with its decisions, their counts and links."""
    rows_by_reason: dict[str, dict[str, Any]] = {}
    for group in result.repeated.groups if result.repeated else ():
        href = addresses.decisions(result.query.period, decision=group.decision, q=group.words)
        row = rows_by_reason.setdefault(
            normalise_reason(group.reason), {"reason": group.reason, "count": 0, "decisions": []}
        )
        row["count"] += group.count
        row["decisions"].append((group.decision, number(group.count), href))
    return sorted(rows_by_reason.values(), key=lambda reason_row: -reason_row["count"])


def _build_blind_warning(figures, href):
    """Return the warning that the gate often lacked the user's message, or None."""
    if not figures.is_blind:
        return None
    unseen = figures.get_number("unseen_count")
    numbers = {"unseen": unseen, "total": number(figures.total), "count": figures.total}
    return {**numbers, "share": format_share(unseen, figures.total), "href": href}


def _build_verdicts(result: StatisticsResult, verdicts: VerdictSummary, addresses: RowAddresses) -> dict[str, Any]:
    """Return the verdicts of all, of each decision that occurs, and by day."""
    period, counts = result.query.period, result.total.counts
    judged: list[tuple[str | None, VerdictCount, int]] = [(None, verdicts.total, result.total.total)]
    judged += [(name, verdicts.by_decision[name], counts[name]) for name in COUNT_COLUMNS if counts[name]]
    return {
        "judged": [
            _build_verdict_row(name, verdict_count, total, addresses, period) for name, verdict_count, total in judged
        ],
        "unjudged": result.total.total - verdicts.total.count,
        "strip": build_verdict_strip(result, verdicts, addresses),
    }


def _build_verdict_row(
    name: str | None, judged: VerdictCount, total: int, addresses: RowAddresses, period: Period
) -> dict[str, Any]:
    only = {"decision": name} if name else {}

    def cell(count, verdict=""):
        filters = only | ({"verdict": verdict} if verdict else {})
        return Cell(number(count), addresses.decisions(period, **filters) if count else None)

    low, high = judged.interval or (0.0, 0.0)
    return {
        "decision": name,
        "count": total,
        "made": cell(total),
        "judged": cell(judged.count, "judged"),
        "right": cell(judged.right, "right"),
        "wrong": cell(judged.wrong, "wrong"),
        "share": format_share(judged.right, judged.count),
        "interval": f"{100 * low:.0f}–{100 * high:.0f}%" if judged.count else "–",
    }


def heads() -> list[str]:
    """Return the names of the numbers."""
    return [
        *(_("Decisions"), *SHORT_NAMES.values(), _("Median latency"), _("Tokens"), _("Cost")),
        *(_("Failed calls"), _("Malformed answers"), _("No user message")),
    ]


def short_heads() -> list[Any]:
    """Return short names of the numbers, for the heads of a wide table."""
    return [
        *(_("Decisions"), *SHORT_NAMES.values(), _("Latency"), _("Tokens"), _("Cost")),
        *(states.word("failed"), states.word("malformed"), _("No user message")),
    ]


def _build_lines(agent, result, addresses):
    by = result.query.by
    titles = _read_titles(agent.db, result.rows) if by == "session" else {}
    for row in result.rows:
        if by in ("day", "week"):
            row_addresses, name = addresses, format_key(row.key, by)
        else:
            # The exact id: other sessions may have the same key.
            value = f"{EXACT_PREFIX}{row.key}" if by == "session" else row.key
            row_addresses = RowAddresses(agent.agent_id, **addresses.filters | {by: value})
            name = (titles.get(row.key) or row.key) if by == "session" else format_key(row.key, by)
        # There is no filter for unknown values: their numbers have no link.
        cells = _build_cells(row.figures, row_addresses if row.key else None, row.period)
        title = row.key if by == "session" else ""
        title = days_in_words(row.period.start, row.period.end) if by == "week" and row.period else title
        yield Line(name, cells[0].href, title, cells)


def _build_cells(figures: Figures, addresses: RowAddresses | None, period: Period | None) -> list[Cell]:
    total, unseen, words = figures.total, figures.get_number("unseen_count"), addresses and addresses.decisions(period)

    def decisions(text, count=total, note="", more=""):
        return Cell(text, (words and count and f"{words}{more}") or None, note)

    def calls(count, segment):
        return Cell(number(count), addresses.calls(period, segment=segment) if addresses and count else None)

    sign = "&" if words and "?" in words else "?"
    timed = figures.get_number("latency_count")
    p95 = _("p95 %(duration)s") % {"duration": duration(figures.p95_ms)} if timed else ""
    return [
        decisions(number(total)),
        *(
            decisions(number(count), count, format_share(count, total) if count else "", f"{sign}decision={decision}")
            for decision, count in figures.counts.items()
        ),
        decisions(duration(figures.p50_ms), timed, p95),
        decisions(tokens(figures.tokens), figures.get_number("token_count"), _describe_known(figures, "token_count")),
        decisions(format_cost(figures.cost_usd), note=_describe_known(figures, "cost_count", figures.failures)),
        calls(figures.get_number("failed_count"), "failed"),
        calls(figures.get_number("malformed_count"), "malformed"),
        decisions(number(unseen), unseen, more=f"{sign}unseen=on"),
    ]


def _describe_known(figures, name, more=0):
    """Return the note on how many decisions have a value, when not all do."""
    known = figures.get_number(name)
    if not known or known >= figures.total + more:
        return ""
    return _("known for %(count)s of %(all)s") % {"count": number(known), "all": number(figures.total + more)}


def _read_titles(db, rows):
    sessions = Session.objects.using(db).filter(id__in=[row.key for row in rows])
    return dict(sessions.values_list("id", "title"))


def _build_prompt_change(agent, change, addresses):
    return {
        "day": day_in_words(change.day),
        "prompt": change.prompt,
        "before": change.before,
        "href": build_prompt_address(agent.agent_id, change.prompt, change.before),
        "decisions": addresses.decisions(Period(change.day, change.day), prompt=change.prompt),
    }


def _build_drift(drift, addresses):
    def side(value, period, count):
        return {
            "share": f"{100 * value:.1f}%",
            "of": count,
            "href": addresses.decisions(period, decision=drift.decision),
        }

    return {
        "decision": drift.decision,
        "has_fallen": drift.share < drift.share_before,
        "now": side(drift.share, drift.period, drift.decisions),
        "before": side(drift.share_before, drift.period_before, drift.decisions_before),
    }
