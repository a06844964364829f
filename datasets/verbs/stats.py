"""`reflection dataset stats`: samples and verdicts by day, type, status, score and person."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome
from openclaw_web.pages import glyphs

from ..statistics import figures
from ..statistics.forms import StatisticsForm

HELP = gettext_lazy("Show statistics of samples: by day, type, status, score and person.")
EXAMPLES = ("reflection dataset stats", "reflection dataset stats --quality-distribution --json")
PARTS = {  # options, and what each adds to the receipt
    "daily": "days",
    "by_type": "types",
    "by_status": "statuses",
    "quality_distribution": "quality",
    "by_labeller": "labellers",
}


def add_arguments(parser):
    parser.add_argument("--daily", action="store_true", help=_("by UTC day, of more than 100 days by ISO week"))
    parser.add_argument("--by-type", action="store_true", help=_("by type of sample"))
    parser.add_argument("--by-status", action="store_true", help=_("by status"))
    parser.add_argument("--quality-distribution", action="store_true", help=_("all samples by quality score"))
    parser.add_argument("--by-labeller", action="store_true", help=_("verdicts by person"))
    parser.add_argument("--since", metavar="DAY", help=_("from this UTC day on, such as 2026-03-11"))
    parser.add_argument("--until", metavar="DAY", help=_("up to this UTC day, included"))


def run(since, until, **options):
    period = StatisticsForm({"from": since or "", "to": until or ""}).read_period()
    values = figures.statistics_to_json(figures.read_statistics(period))
    chosen = [name for name in PARTS if options[name]] or list(PARTS)
    names = [PARTS[name] for name in chosen]
    receipt = {"first_day": str(period.start), "last_day": str(period.end)}
    receipt |= {name: values[name] for name in ("created", "verdicts", *names)}
    words = {"start": period.start, "end": period.end, "created": f"{values['created']:,}"}
    words |= {"verdicts": f"{values['verdicts']:,}"}
    head = _("%(start)s to %(end)s (UTC): samples created: %(created)s, verdicts: %(verdicts)s") % words
    lines = [line for name in chosen for line in LINES[name](values)]
    return Outcome(receipt, "\n".join([head, *lines]))


def _format_days(values):
    yield _("By day:")
    for part in values["days"]:
        if part["created"] or part["verdicts"]:
            numbers = {name: f"{part[name]:,}" for name in ("created", "verdicts", "approved", "rejected")}
            words = _("created %(created)s, verdicts %(verdicts)s (approved %(approved)s, rejected %(rejected)s)")
            yield f"  {part['first_day']}  {words % numbers}"


def _format_types(values):
    yield _("By type:")
    yield from _format_counts(values["types"])


def _format_statuses(values):
    yield _("By status:")
    yield from _format_counts(values["statuses"])


def _format_counts(counts):
    return (f"  {name:<23}  {count:,}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]))


def _format_scores(values):
    if values["quality"] is None:
        yield _("No sample has a quality score yet.")
        return
    yield _("All samples by quality score:")
    for row in values["quality"]:
        yield f"  {row['at_least']:.1f}–{row['below']:.1f}  {row['count']:,}"


def _format_labellers(values):
    yield _("Verdicts by person:")
    for row in values["labellers"]:
        share = "–" if row["approve_share"] is None else f"{100 * row['approve_share']:.0f}%"
        seconds = "–" if row["median_seconds"] is None else f"{row['median_seconds']} s"
        words = {"count": f"{row['verdicts']:,}", "share": share, "seconds": seconds}
        text = _("%(count)s, approved %(share)s, time for a verdict %(seconds)s") % words
        yield f"  {glyphs.to_one_line(row['name'])}  {text}"


LINES = {
    "daily": _format_days,
    "by_type": _format_types,
    "by_status": _format_statuses,
    "quality_distribution": _format_scores,
    "by_labeller": _format_labellers,
}
