"""Automatic runs over new facts for files that are written unattended.

A fact that the limits refuse becomes a proposal.
"""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.runners.auto_run import GIVE_UP_AFTER, AutoRun
from agents.runners.batch import Batch
from jobs.kinds import BY_SCHEDULE, Kind
from openclaw_web import clock

from . import fact_selection, job
from .fact_selection import FactChoice
from .llm import config
from .llm.config import RUNNER
from .memory import Memory


def _choose(guardian, agent, switches, since, most):
    memory = Memory(agent)
    files = tuple((name, max(switch.since, since)) for name, switch in switches.items() if memory.can_read(name))
    if not files:
        return []
    first = min(moment for _name, moment in files)
    choice = FactChoice(since=first, limit=most, files=files, give_up_after=GIVE_UP_AFTER)
    return fact_selection.select_facts(agent, choice).decisions


def _handle(guardian, agent, decisions, progress, may_go_on):
    began = clock.now_ms()
    job.end_interrupted(agent)
    batch = Batch(RUNNER, guardian, progress, len(decisions), most_failures=1)
    runs = job.build_runs(agent.db, decisions, by=BY_SCHEDULE)
    batch.run(runs, job.build_fact_handler(agent, guardian, batch, is_unattended=True), may_go_on)
    return job.summary(agent, batch, began)


def _message(results, stopped):
    return " ".join(f"{result['agent']}: {result['message']}" for result in results) or _("There were no new facts.")


NEW_FACTS = AutoRun(
    kind="guardian_new_facts",
    runner=RUNNER,
    model=config.get_configured_guardian,
    choose=_choose,
    handle=_handle,
    count="handled",
    message=_message,
)
JOB = Kind(
    run=NEW_FACTS.run,
    label=gettext_lazy("Built-in guardian: new facts"),
    audit_text=gettext_lazy("started the built-in guardian for new facts"),
    cancel_text=gettext_lazy("Writes and proposals so far are kept; the next run continues."),
    describe_result=lambda result: str(result["message"]),
    schedule=NEW_FACTS.every,
)
