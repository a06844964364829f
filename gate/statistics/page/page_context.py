"""What the page of statistics shows: every number in words, with the address of the rows that it counts."""

from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.models import Session
from openclaw_web.pages import states
from openclaw_web.pages.formatting import day_in_words, duration, number, tokens

from ...lists.list_context import EXACT_PREFIX
from ..figure_format import SHORT_NAMES, format_cost, format_key, format_share
from ..figures import Figures, Period
from ..repeated_reasons import normalise_reason
from ..statistics_query import StatisticsResult
from ..sum_changes import COUNT_COLUMNS
from ..verdict_summary import VerdictCount, VerdictSummary
from .addresses import RowAddresses, build_prompt_address
from .chart import build_chart, build_verdict_strip


class Cell(NamedTuple):
    """A number: in words, where its rows are (None: nowhere), and a note beside it."""

    text: str
    href: str | None = None
    note: str = ""


class Line(NamedTuple):
    """A row of the table: its name, where that leads, and its numbers."""

    name: str
    href: str | None
    title: str  # on hover
    cells: list[Cell]


def build_page_context(agent: Agent, found: StatisticsResult) -> dict[str, Any]:
    """Everything that the template draws of an answer."""
    asked = found.asked
    rows = RowAddresses(agent.agent_id, model=asked.model, prompt=asked.prompt)
    whole = RowAddresses(agent.agent_id, session=asked.session)
    tiles = _cells(found.total, whole if asked.session else rows, None if asked.session else asked.period)
    named = list(zip(heads(), tiles, strict=True))
    return {
        "tiles": [(name, cell) for name, cell in named if cell.text != "0"],
        "zeros": [str(name) for name, cell in named if cell.text == "0"],
        "blind": _blind(found.total, named[-1][1].href),
        "heads": heads(),
        "short_heads": short_heads(),
        "lines": list(_lines(agent, found, rows)),
        "chart": build_chart(found, rows),
        "changes": [_change(agent, change, rows) for change in found.prompt_changes],
        "drifts": [_drift(drift, rows) for drift in found.drifts],
        "repeated": _repeated(found, rows),
        **(_verdicts(found, found.verdicts, rows) if found.verdicts else {"judged": [], "unjudged": 0, "strip": None}),
    }


def _repeated(found, rows):
    """Each repeated reason once, with the decisions that gave it: how often, and the way to them."""
    together: dict[str, dict[str, Any]] = {}
    for group in found.repeated.groups if found.repeated else ():
        href = rows.decisions(found.asked.period, decision=group.decision, q=group.words)
        known = together.setdefault(
            normalise_reason(group.reason), {"reason": group.reason, "count": 0, "decisions": []}
        )
        known["count"] += group.count
        known["decisions"].append((group.decision, number(group.count), href))
    return sorted(together.values(), key=lambda one: -one["count"])


def _blind(figures, href):
    """That the gate had no message of the user too often, with the way to these decisions; None where it had."""
    if not figures.is_blind:
        return None
    unseen = figures.of("unseen_count")
    numbers = {"unseen": unseen, "total": number(figures.total), "count": figures.total}
    return {**numbers, "share": format_share(unseen, figures.total), "href": href}


def _verdicts(found: StatisticsResult, verdicts: VerdictSummary, rows: RowAddresses) -> dict[str, Any]:
    """What people said: in all, of each decision that somebody judged or made, and by day."""
    period, counts = found.asked.period, found.total.counts
    judged: list[tuple[str | None, VerdictCount, int]] = [(None, verdicts.total, found.total.total)]
    judged += [(name, verdicts.by_decision[name], counts[name]) for name in COUNT_COLUMNS if counts[name]]
    return {
        "judged": [_judged(name, one, total, rows, period) for name, one, total in judged],
        "unjudged": found.total.total - verdicts.total.count,
        "strip": build_verdict_strip(found, verdicts, rows),
    }


def _judged(name: str | None, judged: VerdictCount, total: int, rows: RowAddresses, period: Period) -> dict[str, Any]:
    only = {"decision": name} if name else {}

    def cell(count, verdict=""):
        filters = only | ({"verdict": verdict} if verdict else {})
        return Cell(number(count), rows.decisions(period, **filters) if count else None)

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
    """The names of the numbers."""
    return [
        *(_("Decisions"), *SHORT_NAMES.values(), _("Median latency"), _("Tokens"), _("Cost")),
        *(_("Failed calls"), _("Malformed answers"), _("No user message")),
    ]


def short_heads() -> list[Any]:
    """The same in a word each, for the heads of a wide table."""
    return [
        *(_("Decisions"), *SHORT_NAMES.values(), _("Latency"), _("Tokens"), _("Cost")),
        *(states.word("failed"), states.word("malformed"), _("No user message")),
    ]


def _lines(agent, found, rows):
    by = found.asked.by
    titles = _titles(agent.db, found.rows) if by == "session" else {}
    for row in found.rows:
        if by in ("day", "week"):
            there, name = rows, format_key(row.key, by)
        else:
            # Each session has a row of its own, whatever else has the same key.
            value = f"{EXACT_PREFIX}{row.key}" if by == "session" else row.key
            there = RowAddresses(agent.agent_id, **rows.filters | {by: value})
            name = (titles.get(row.key) or row.key) if by == "session" else format_key(row.key, by)
        # No filter asks for what is not known: its numbers lead nowhere.
        cells = _cells(row.figures, there if row.key else None, row.period)
        title = _days(row.period) if by == "week" and row.period else row.key if by == "session" else ""
        yield Line(name, cells[0].href, title, cells)


def _cells(figures: Figures, rows: RowAddresses | None, period: Period | None) -> list[Cell]:
    total, unseen, words = figures.total, figures.of("unseen_count"), rows and rows.decisions(period)

    def decisions(text, count=total, note="", more=""):
        return Cell(text, (words and count and f"{words}{more}") or None, note)

    def calls(count, segment):
        return Cell(number(count), rows.calls(period, segment=segment) if rows and count else None)

    sign = "&" if words and "?" in words else "?"
    return [
        decisions(number(total)),
        *(
            decisions(number(count), count, format_share(count, total) if count else "", f"{sign}decision={decision}")
            for decision, count in figures.counts.items()
        ),
        decisions(duration(figures.p50_ms), figures.of("latency_count"), _slowest(figures)),
        decisions(tokens(figures.tokens), figures.of("token_count"), _known(figures, "token_count")),
        decisions(format_cost(figures.cost_usd), note=_known(figures, "cost_count", figures.failures)),
        calls(figures.of("failed_count"), "failed"),
        calls(figures.of("malformed_count"), "malformed"),
        decisions(number(unseen), unseen, more=f"{sign}unseen=on"),
    ]


def _slowest(figures):
    """The latency that one in twenty exceeds."""
    return _("p95 %(duration)s") % {"duration": duration(figures.p95_ms)} if figures.of("latency_count") else ""


def _known(figures, name, more=0):
    """Of how many this is known, when not of all."""
    known = figures.of(name)
    if not known or known >= figures.total + more:
        return ""
    return _("known for %(count)s of %(all)s") % {"count": number(known), "all": number(figures.total + more)}


def _titles(db, rows):
    found = Session.objects.using(db).filter(id__in=[row.key for row in rows])
    return dict(found.values_list("id", "title"))


def _days(period):
    return f"{day_in_words(period.start, has_year=False)} – {day_in_words(period.end)}"


def _change(agent, change, rows):
    return {
        "day": day_in_words(change.day),
        "prompt": change.prompt,
        "before": change.before,
        "href": build_prompt_address(agent.agent_id, change.prompt, change.before),
        "decisions": rows.decisions(Period(change.day, change.day), prompt=change.prompt),
    }


def _drift(drift, rows):
    def side(value, period, count):
        return {"share": f"{100 * value:.1f}%", "of": count, "href": rows.decisions(period, decision=drift.decision)}

    return {
        "decision": drift.decision,
        "has_fallen": drift.share < drift.share_before,
        "now": side(drift.share, drift.period, drift.decisions),
        "before": side(drift.share_before, drift.period_before, drift.decisions_before),
    }
