"""The four numbers of a range and its charts, from the sums of all agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from openclaw_web.pages import formatting, states
from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.small_charts import Sparkline, sparkline

from ..activity import Links, RangeSums, build_links, build_list_address
from ..models import AgentSummary
from ..ranges import LABELS, Range
from ..span_sums import OTHERS, SpanSums

MODELS_SHOWN = 5
LEAST_P95 = 10  # percent: smaller changes are within the width of a bucket (overview.latency)
TONES = ("accent", "info", "tool", "ok", "warn")  # of models; the rest is muted
MICRO = 1_000_000  # charts count in whole numbers: millionths of a dollar


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with its chart and its change.

    `tone` is bad or empty, `trend` is the tone of the change.
    """

    label: str
    value: str
    href: str
    change: str
    note: str = ""
    tone: str = ""
    trend: str = ""
    spark: Sparkline | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The sums of all agents in a range and in the range before it."""

    name: str
    period: Range
    now: RangeSums
    before: RangeSums
    spans: Mapping[str, RangeSums]
    only: AgentSummary | None  # the agent of a site with a single one
    has_repeats: bool  # some records of an agent are repeated from another session

    @classmethod
    def from_sums(
        cls, name: str, period: Range, sums: Mapping[str, SpanSums], agents: Sequence[AgentSummary]
    ) -> "Overview":
        """Build the overview of a range from `sums`, which has the range before too."""
        spans, now, before = {}, RangeSums(), RangeSums()
        for span in period.spans:
            spans[span] = RangeSums()
            if span in sums:
                spans[span].sums.add(sums[span])
                now.sums.add(sums[span])
        for span in period.before.spans:
            if span in sums:
                before.sums.add(sums[span])
        only = agents[0] if len(agents) == 1 else None
        return cls(name, period, now, before, spans, only, any(agent.has_repeats for agent in agents))

    @property
    def writes(self) -> list[tuple[str, int, str]]:
        """Writes to memory files by status: its word, their number, and the address of their list."""
        names = ("written", "rolled_back", "refused")
        return [(states.word(name), getattr(self.now, name), self.href(self.period, name)) for name in names]

    def href(self, period: Range, name: str) -> str:
        """Return the address of the rows behind a number, such as `turns`.

        A number without rows of its own, as the cost, has those of each agent.
        """
        if hasattr(Links, name):
            sums = self.now.sums if period == self.period else None
            agent_id = self.only.agent_id if self.only else ""
            return str(getattr(build_links(agent_id, period, self.has_repeats, sums), name))
        return f"{build_list_address('overview:agent_list')}?{period.query}&sort=-{name}"


def build_tiles(overview: Overview) -> list[Tile]:
    """Build the tiles of turns, errors, cost and answer time."""
    now, before = overview.now, overview.before
    removed = now.removed_turns
    note = _("%(count)s more in removed sessions") % {"count": f"{removed:,}"} if removed else ""
    tone, trend = "bad" if now.errors else "", _find_trend(now.errors, before.errors)
    slower = _find_trend(now.p95, before.p95, least=LEAST_P95)
    cost, unpriced = formatting.cost(now.cost, now.unpriced), formatting.without_price(now.unpriced)
    return [
        _build_tile(overview, "turns", _("Turns"), formatting.number, note=note),
        _build_tile(overview, "errors", _("Errors"), formatting.number, tone=tone, trend=trend),
        _build_tile(overview, "cost", _("Cost"), formatting.money, value=cost, note=unpriced),
        _build_tile(overview, "p95", _("Answer time, p95"), formatting.duration, least=LEAST_P95, trend=slower),
    ]


def _build_tile(overview, name, label, in_words, *, value="", least=1, **details):
    """Build the tile of a number of `RangeSums`, which `in_words` formats unless `value` does."""
    now, before = getattr(overview.now, name), getattr(overview.before, name)
    return Tile(
        label,
        value or in_words(now),
        overview.href(overview.period, name),
        _describe_change(overview, now, before, least=least),
        spark=_build_sparkline(overview, label, name, in_words),
        **details,
    )


def _describe_change(overview, now, before, *, least=1):
    """Describe how a number changed against the range before; empty without a comparison."""
    if not overview.before.sums.counts["turn_count"] or now is None or before is None:
        return ""
    words = {"before": LABELS[overview.name]}
    if not before:
        return _("none in the %(before)s before") % words if now else ""
    percent = round(100 * (now - before) / before)
    if abs(percent) < least:
        return _("as in the %(before)s before") % words
    words["percent"] = f"{abs(percent):,}"
    if percent > 0:
        return _("%(percent)s%% more than in the %(before)s before") % words
    return _("%(percent)s%% less than in the %(before)s before") % words


def _find_trend(now, before, *, least=0):
    if not now or not before or abs(now - before) * 100 <= least * before:
        return ""
    return "bad" if now > before else "ok"


def _build_sparkline(overview, label, name, in_words):
    values = [getattr(sums, name) for sums in overview.spans.values()]
    known = [value for value in values if value]
    words = {"label": label, "highest": in_words(max(known, default=0)), "last": in_words(values[-1] or 0)}
    return sparkline(values, label=_("%(label)s: highest %(highest)s, last %(last)s") % words)


def build_activity_chart(overview: Overview) -> Chart:
    """Build the chart of turns and errors by day or hour."""
    has_any = any(sums.sums.counts[name] for sums in overview.spans.values() for name in ("turn_count", "error_count"))
    points = [
        _build_point(overview, part, (sums.sums.counts["turn_count"], sums.sums.counts["error_count"]), "turns")
        for part, sums in zip(overview.period.parts(), overview.spans.values(), strict=True)
    ]
    return bar_chart(
        points if has_any else [],
        title=_("Turns and errors by hour (UTC)") if overview.period.is_hours else _("Turns and errors by day (UTC)"),
        unit=_get_unit_label(overview),
        series=[Series(_("Turns"), "accent"), Series(_("Errors"), "bad", is_below=True)],
    )


def build_cost_chart(overview: Overview) -> Chart:
    """Build the chart of cost by model and day or hour.

    The most expensive models have their own series, all others share one.
    """
    models = overview.now.sums.models.items()
    known = {name: pair[0] for name, pair in models if pair[0] > 0 and name != OTHERS}
    names = sorted(known, key=lambda name: (-known[name], name))[:MODELS_SHOWN]
    turns = overview.href(overview.period, "turns")
    series = [
        Series(name or _("Unknown model"), tone, href=f"{turns}&{urlencode({'model': name})}" if name else "")
        for name, tone in zip(names, TONES, strict=False)
    ]
    points = []
    for part, sums in zip(overview.period.parts(), overview.spans.values(), strict=True):
        parts = [sums.sums.models.get(name, (0, 0))[0] for name in names]
        rest = max(0, (sums.cost or 0) - sum(parts))
        values = tuple(round(cost * MICRO) for cost in (*parts, rest if rest > 1 / MICRO else 0))
        points.append(_build_point(overview, part, values, "cost"))
    return bar_chart(
        points,
        title=_("Cost by model and hour (UTC)") if overview.period.is_hours else _("Cost by model and day (UTC)"),
        unit=_get_unit_label(overview),
        series=_without_empty_rest(points, [*series, Series(_("Other models"), "muted")]),
        in_words=lambda micro: formatting.money(micro / MICRO) if micro else "–",
    )


def _without_empty_rest(points, series):
    if any(point.values[-1] for point in points) or len(series) == 1:
        return series
    points[:] = [Point(point.name, point.short, point.values[:-1], point.href) for point in points]
    return series[:-1]


def _build_point(overview, part, values, name_of_list):
    if part.is_hours:
        short = f"{part.spans[0][11:]}:00"
        name = f"{formatting.day_in_words(part.first_day, has_year=False)}, {short}"
    else:
        short, name = formatting.day_in_words(part.last_day, has_year=False), str(part)
    return Point(name, short, values, overview.href(part, name_of_list))


def _get_unit_label(overview):
    return _("Hour") if overview.period.is_hours else _("Day")
