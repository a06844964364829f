"""New turns of agents whose gate is on, judged without anybody asking."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.runners.auto_run import GIVE_UP_AFTER, AutoRun
from agents.runners.batch import Batch
from jobs.kinds import Kind
from openclaw_web import amounts, clock

from . import config, job, turn_selection
from .config import RUNNER
from .turn_selection import TurnChoice


def _choose(gate, agent, switches, since, most):
    asked = TurnChoice(since=max(switches[""].since, since), limit=most, give_up_after=GIVE_UP_AFTER)
    return turn_selection.select_turns(agent.db, asked, gate.model, gate.prompt.version).ids


def _handle(gate, agent, turn_ids, progress, may_go_on):
    began, batch = clock.now_ms(), Batch(RUNNER, gate, progress, len(turn_ids), most_failures=1)
    batch.run(turn_ids, job.build_turn_handler(agent.db, gate, batch), may_go_on)
    return job.summary(agent, gate, batch, turn_ids, began)


def _message(results, stopped):
    decided = sum(result["decided"] for result in results)
    judged = _("Judged: %(turns)s.") % {"turns": amounts.format_amount("turns", decided)}
    return f"{judged} {stopped}".strip()


NEW_TURNS = AutoRun(
    kind="gate_new_turns",
    runner=RUNNER,
    model=config.get_configured_gate,
    choose=_choose,
    handle=_handle,
    count="decided",
    message=_message,
)
JOB = Kind(
    run=NEW_TURNS.run,
    label=gettext_lazy("Built-in gate: new turns"),
    started=gettext_lazy("started the built-in gate for new turns"),
    kept=gettext_lazy("Decisions so far are kept; the next run continues."),
    done=lambda result: str(result["message"]),
    every=NEW_TURNS.every,
)
