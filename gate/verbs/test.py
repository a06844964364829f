"""`reflection gate test`: tests a model or prompt with people's verdicts on decisions, after a preview."""

import sys

from django.utils.translation import gettext_lazy

from agents import services as agents
from jobs.progress import open_listener
from openclaw_web.commands.verbs import BY

from ..replays import comparison, plans, regression_sets, replay_launch
from ..replays.regression_sets import GATE
from ..replays.replay_request import ReplayRequest
from . import model_verbs
from .replay import describe_replay_plan

HELP = gettext_lazy("Test a model or prompt with verdicts on decisions. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection gate test --model small-2 --prompt-file prompt.txt --yes",)
add_arguments = model_verbs.add_test_options


def run(agent, model, prompt_file, number, dry_run, yes, quiet, **options):
    model_verbs.check_endpoint()
    owner, prompt = agents.get(agent), model_verbs.read_prompt(prompt_file)
    cases = regression_sets.read_right_decisions(owner)
    regression_set = regression_sets.choose_set(owner, GATE, cases, by=BY, number=number, is_stored=yes)
    request = ReplayRequest.from_set(regression_set, model.strip(), prompt)
    if not yes:
        return describe_replay_plan(plans.plan_replay(owner, request), is_all=dry_run)
    with open_listener(sys.stderr, is_quiet=quiet) as listener:
        replay, job = replay_launch.run_here(owner, request, by=BY, listener=listener)
    return model_verbs.report_test(job, comparison.compare_replay(owner.db, replay))
