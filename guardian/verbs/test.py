"""`reflection guardian test`: tests a model or prompt with people's verdicts on writes, after a preview."""

import sys

from django.utils.translation import gettext_lazy

from agents import services as agents
from agents.runners import launch
from gate.replays.regression_sets import GUARDIAN, choose_set
from gate.verbs import model_verbs
from jobs.progress import open_listener
from openclaw_web.commands.verbs import BY

from ..runner import plans, regressions
from ..runner.llm.config import RUNNER
from .propose import describe_fact_plan

HELP = gettext_lazy("Test a model or prompt with verdicts on writes. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection guardian test --model small-2 --prompt-file prompt.txt --yes",)
add_arguments = model_verbs.add_test_options


def run(agent, model, prompt_file, number, dry_run, yes, quiet, **options):
    model_verbs.check_endpoint()
    owner, guardian = agents.get(agent), regressions.build_guardian(model.strip(), model_verbs.read_prompt(prompt_file))
    cases = regressions.read_cases(owner)
    regression_set = choose_set(owner, GUARDIAN, cases, by=BY, number=number, is_stored=yes)
    if not yes:
        runs = regressions.build_runs(owner, regression_set, by=BY)
        return describe_fact_plan(plans.plan_test(owner, guardian, runs), is_all=dry_run)
    test = regressions.open_test(owner, regression_set, guardian, by=BY)
    with open_listener(sys.stderr, is_quiet=quiet) as listener:
        job = launch.run_here(RUNNER, owner, regressions.build_params(owner, test), by=BY, listener=listener)
    return model_verbs.report_test(job, regressions.compare(owner.db, test))
