"""`reflection dataset coverage`: shares beside the traffic, prices, and the samples to judge next."""

from itertools import groupby
from operator import itemgetter

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import money

from ..coverage.shares import MOST_NEXT, build_scope
from ..coverage.words import DIMENSION_WORDS, build_report
from ..exports.options import TASKS

HELP = gettext_lazy("Compare the samples of a dataset with the traffic of its agents.")
EXAMPLES = (
    "reflection dataset coverage support --number 3",
    "reflection dataset coverage support --next 100",
    'reflection dataset coverage --sample-filter "agent:main"',
)


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help=_("name of the dataset (a filter alone)"))
    parser.add_argument("--number", type=int, metavar="N", help=_("number of a release (the samples that fit now)"))
    parser.add_argument("--task", choices=[name.value for name in TASKS], default="reply")
    parser.add_argument(
        "--sample-filter", default="", metavar="LINE", help=_("without NAME: samples that fit this filter")
    )
    parser.add_argument("--next", type=int, default=0, metavar="N", help=_("also N samples to judge next, and why"))


def run(name, number, task, sample_filter, **options):
    if not 0 <= options["next"] <= MOST_NEXT:
        raise WrongUse(_("--next must be 0 to %(most)s.") % {"most": MOST_NEXT})
    scope = build_scope(name, number, task, sample_filter)
    report = build_report(scope, options["next"], is_whole=True)
    return Outcome({"coverage": report}, "\n".join(_format_report(report)))


def _format_report(report):
    words = {"samples": f"{report['samples']:,}", "turns": f"{report['turns']:,}"}
    words |= {"first": report["first_day"] or "–", "last": report["last_day"] or "–"}
    yield _("Samples: %(samples)s. Turns: %(turns)s, from %(first)s to %(last)s (UTC)") % words
    if report["is_estimated"]:
        yield _("Shares are estimated from some thousand samples and turns.")
    for dimension, buckets in groupby(report["buckets"], key=itemgetter("dimension")):
        yield f"{DIMENSION_WORDS[dimension]}:"
        for bucket in buckets:
            traffic = "–" if bucket["traffic"] is None else f"{bucket['traffic']:.1%}"
            gap = "  " + _("gap") if bucket["is_gap"] else ""
            label = glyphs.to_one_line(bucket["label"])
            yield f"  {label:<28}  {bucket['count']:>7,}  {bucket['share']:>6.1%}  {traffic:>6}{gap}"
    price = report["price"]
    costs = {"all": money(price["cost"]), "turns": money(price["turn_cost"])}
    costs |= {"price": "–" if price["per_sample"] is None else money(price["per_sample"])}
    yield _("A good row costs %(price)s: %(all)s of all traffic; the turns of the samples cost %(turns)s") % costs
    for pick in report["next"]:
        yield f"{glyphs.to_one_line(pick['sample_id'])}  {pick['reason']}"
