"""`reflection dataset quality`: counts of signals and scores of turns."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from jobs import services as jobs
from jobs.progress import open_listener
from jobs.verbs import read_job_result
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ..quality import summary
from ..score_evaluation.evaluation import evaluate_score
from ..score_evaluation.words import STATE_WORDS

HELP = gettext_lazy("Count the signals of turns, and the turns by quality score.")
EXAMPLES = (
    "reflection dataset quality --agent main",
    "reflection dataset quality --ask --json",
    "reflection dataset quality --report",
)


def add_arguments(parser):
    parser.add_argument("--agent", default="", help=_("only turns of this agent"))
    parser.add_argument("--ask", action="store_true", help=_("first ask the turns that have no current answers"))
    parser.add_argument("--report", action="store_true", help=_("compare the score with verdicts of people instead"))
    parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))


def run(agent, ask, report, quiet, **_options):
    if agent and not Agent.objects.filter(agent_id=agent).exists():
        raise Refused(_("There is no agent %(name)s.") % {"name": glyphs.to_one_line(agent)})
    result = None
    if ask:
        with open_listener(sys.stderr, is_quiet=quiet) as listener:
            result = read_job_result(jobs.run_now("signals", {}, by=BY, listener=listener))
    figures, format_lines = (evaluate_score, _format_report) if report else (summary.summarise, _format_lines)
    receipt = figures(agent) | {"job": result}
    return Outcome(receipt, "\n".join([*([result["message"]] if result else []), *format_lines(receipt)]))


def _format_lines(receipt):
    numbers = {name: f"{receipt[name]:,}" for name in ("turns", "closed", "unscored_samples")}
    yield _("Turns with answers: %(turns)s; without: %(closed)s") % numbers
    for row in receipt["signals"]:
        counts = {name: f"{row[name]:,}" for name in ("yes", "no", "unknown", "not_yet")}
        words = _("yes %(yes)s, no %(no)s, unknown %(unknown)s, not yet %(not_yet)s") % counts
        yield f"  {row['name']:<22}  {words}"
    yield _("Turns by quality score:")
    for row in receipt["scores"]:
        yield f"  {row['at_least']:.1f}–{row['below']:.1f}  {row['count']:,}"
    yield _("Samples without a score: %(unscored_samples)s") % numbers


def _format_report(receipt):
    counts = {"verdicts": f"{receipt['verdicts']:,}", "approved": f"{receipt['approved']:,}"}
    yield _("Verdicts on turns with a score: %(verdicts)s, approved: %(approved)s") % counts
    yield f"{STATE_WORDS[receipt['state']]}"
    for label, area in ((_("AUC of the score"), receipt["area"]), (_("AUC of the length"), receipt["length"])):
        if area:
            yield f"  {label}: {area['value']:.2f} ({area['low']:.2f}–{area['high']:.2f})"
    yield _("Approved turns by score:")
    for row in receipt["scores"]:
        if row["count"]:
            yield f"  {row['at_least']:.1f}–{row['below']:.1f}  {row['hits']:,} / {row['count']:,}"
    yield _("Rejected turns of those with yes:")
    for row in receipt["signals"]:
        yield f"  {row['name']:<22}  {row['yes']['hits']:,} / {row['yes']['count']:,}"
