"""`reflection gate replay`: replays decisions with another model or prompt, after a preview."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from jobs.progress import open_listener
from jobs.verbs import read_job_result
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY, DONE, PARTLY

from ..replays import plans, replay_launch, results
from ..replays.replay_request import DEFAULT_LIMIT, MAX_DECISIONS, ReplayRequest
from ..words import percent_of
from . import add_filters, model_verbs, parse_filters

HELP = gettext_lazy("Replay decisions with another model or prompt. Without --yes, only show what would be sent.")
EXAMPLES = (
    "reflection gate replay --model small-2 --decision NO_WRITE --limit 50",
    "reflection gate replay --model small-2 --prompt-file prompt.txt --approved --yes",
)


def add_arguments(parser):
    model_verbs.add_model_options(parser)
    add_filters(parser)
    parser.add_argument("--approved", action="store_true", help=_("only decisions in approved samples"))
    parser.add_argument(
        "--limit",
        "-l",
        type=int,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=_("at most N decisions, the newest (%(default)s)"),
    )
    model_verbs.add_send_options(parser)


def run(agent, model, prompt_file, approved, limit, dry_run, yes, quiet, **options):
    if not 1 <= limit <= MAX_DECISIONS:
        raise WrongUse(_("--limit must be 1 to %(most)s.") % {"most": f"{MAX_DECISIONS:,}"})
    agent_row = agents.get(agent)
    request = ReplayRequest(
        model.strip(), model_verbs.read_prompt(prompt_file), limit, parse_filters(options), is_approved=approved
    )
    return (
        _run_replay(agent_row, request, quiet)
        if yes
        else describe_replay_plan(plans.plan_replay(agent_row, request), is_all=dry_run)
    )


def describe_replay_plan(plan, is_all):
    rows = (
        (_("Decisions"), f"{plan.decisions:,}"),
        (_("Skipped, no window stored"), f"{plan.skipped:,}"),
        (_("Withheld"), f"{plan.withheld:,}"),
    )
    return model_verbs.describe_plan(plan, rows, count=plan.decisions, name="replay", is_all=is_all)


def _run_replay(agent, request, is_quiet):
    with open_listener(sys.stderr, is_quiet=is_quiet) as listener:
        replay, job = replay_launch.run_here(agent, request, by=BY, listener=listener)
    result = read_job_result(job)
    status = PARTLY if result["left"] or result["malformed"] else DONE
    receipt = {"plan": None, "replay": result}
    words = "\n".join([result["message"], *_describe_result(results.read_result(agent.db, replay))])
    return Outcome(receipt, words, status, "" if status == DONE else result["message"])


def _describe_result(result):
    """Yield the agreement, and the count of each change of a decision."""
    if not result.decided:
        return
    yield _("Agreement: %(share)s") % {"share": percent_of(result.agreed, result.decided)}
    for (original, decision), count in sorted(result.matrix.items()):
        if original != decision:
            yield f"  {original} → {decision}  {count:,}"
