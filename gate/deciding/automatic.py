"""New turns of agents whose gate is on, judged without anybody asking."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.runners.automatic import GIVE_UP_AFTER, Automatic
from agents.runners.batch import Batch
from jobs.kinds import Kind
from openclaw_web import amounts, clock

from . import choosing, gates, running
from .choosing import Asked
from .gates import RUNNER


def _choose(gate, agent, switches, since, most):
    asked = Asked(since=max(switches[""].since, since), limit=most, give_up_after=GIVE_UP_AFTER)
    return choosing.choose(agent.db, asked, gate.model, gate.prompt.version).ids


def _handle(gate, agent, turn_ids, progress, may_go_on):
    began, batch = clock.now_ms(), Batch(RUNNER, gate, progress, len(turn_ids), most_failures=1)
    batch.go(turn_ids, running.judge(agent.db, gate, batch), may_go_on)
    return running.summary(agent, gate, batch, turn_ids, began)


def _message(results, stopped):
    decided = sum(result["decided"] for result in results)
    judged = _("Judged: %(turns)s.") % {"turns": amounts.of("turns", decided)}
    return f"{judged} {stopped}".strip()


NEW_TURNS = Automatic(
    kind="gate_new_turns",
    runner=RUNNER,
    model=gates.as_set,
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
