"""The scheduled job that judges new turns of agents whose gate is on."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.runners.auto_run import GIVE_UP_AFTER, AutoRun
from agents.runners.batch import Batch
from jobs.kinds import Kind
from openclaw_web import amounts, clock
from openclaw_web.sentences import join_sentences

from . import config, job, turn_selection
from .config import RUNNER
from .turn_selection import TurnChoice


def _select_waiting(gate, agent, switches, since, most):
    choice = TurnChoice(since=max(switches[""].since, since), limit=most, give_up_after=GIVE_UP_AFTER)
    return turn_selection.select_turns(agent.db, choice, gate.model, gate.prompt.version).ids


def _judge_turns(gate, agent, turn_ids, progress, may_go_on):
    started_at, batch = clock.now_ms(), Batch(RUNNER, gate, progress, len(turn_ids), most_failures=1)
    batch.run(turn_ids, job.build_turn_handler(agent.db, gate, batch), may_go_on)
    return job.summary(agent, gate, batch, turn_ids, started_at)


def _build_message(results, stopped):
    decided_count = sum(result["decided"] for result in results)
    sentence = _("Judged: %(turns)s.") % {"turns": amounts.format_amount("turns", decided_count)}
    return join_sentences(filter(None, [sentence, stopped]))


NEW_TURNS = AutoRun(
    kind="gate_new_turns",
    runner=RUNNER,
    model=config.get_configured_gate,
    choose=_select_waiting,
    handle=_judge_turns,
    count="decided",
    message=_build_message,
)
JOB = Kind(
    run=NEW_TURNS.run,
    label=gettext_lazy("This site's gate: new turns"),
    audit_text=gettext_lazy("started this site's gate for new turns"),
    cancel_text=gettext_lazy("Decisions so far are kept; the next run continues."),
    schedule=NEW_TURNS.every,
)
