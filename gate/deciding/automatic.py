"""New turns of agents whose gate is on are judged without anybody asking: by a job that starts when there are some.

It looks back a week at most. A turn about which the model was asked three times in vain is left to whoever runs the
gate by hand; after a run that ended early nobody is asked for a quarter of an hour.
"""

import time
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents.models import Agent
from jobs.kinds import MINUTE_MS, Every, Kind
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import amounts, clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from . import allowance, choosing, gates, running, switch
from .choosing import Asked
from .gates import Gate
from .running import Walk
from .switch import Switched

KIND = "gate_new_turns"
BACK_MS = 7 * 24 * 60 * MINUTE_MS
PAUSE_MS = 15 * MINUTE_MS
GIVE_UP_AFTER = 3  # calls about one turn
SECONDS = 300  # after which a run begins with no more turns, so that other jobs get their turn


def is_possible() -> bool:
    """Whether there is a turn to judge, and nothing speaks against it."""
    switch.settle_times()
    on = switch.all_on()
    if not on or gates.problem_of() or _is_pausing():
        return False
    gate = gates.as_set()
    return any(_waiting(agent_id, switched, gate, most=1) for agent_id, switched in on.items())


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, and when a model gave no answer to any turn."""
    began, gate = time.monotonic(), gates.in_force()
    found = []
    for agent_id, switched in switch.all_on().items():

        def may_go_on(agent_id=agent_id):
            return time.monotonic() - began < SECONDS and switch.of(agent_id) is not None

        if may_go_on() and (result := _judge(agent_id, switched, gate, progress, may_go_on)):
            found.append(result)
            if result["failure"]:
                break
    return _told(found)


def _judge(agent_id, switched, gate, progress, may_go_on):
    """What became of the new turns of one agent; None when there were none, or somebody else is at them."""
    with locks.lock(running.lock_of(agent_id), wait=False) as is_ours:
        if not is_ours or not (ids := _waiting(agent_id, switched, gate)):
            return None
        began = clock.now_ms()
        agent = Agent.objects.get(agent_id=agent_id)
        walk = Walk(agent.db, gate, ids, progress, most_failures=1)
        walk.go(may_go_on)
        return running.told(agent, walk, began)


def _waiting(agent_id, switched: Switched, gate: Gate, most: int | None = None):
    """Ids of the turns that wait for being judged, the oldest first; none of an agent whose limit is reached."""
    since = max(switched.since, clock.now_ms() - BACK_MS)
    asked = Asked(since=since, limit=most, give_up_after=GIVE_UP_AFTER)
    try:
        db = databases.alias(agent_id)
    except (databases.UnknownAgent, databases.OldAgentFile):
        return []
    room = allowance.left(db)
    if room is not None and room < gate.least_tokens:
        return []
    return choosing.choose(db, asked, gate.model, gate.prompt.version).ids


def _is_pausing():
    last = JobRun.objects.filter(kind=KIND).order_by("-created_at", "-id").first()
    if last is None or last.finished_at is None or not clock.is_recent(last.finished_at, PAUSE_MS):
        return False
    return last.state != JobRun.State.FINISHED or bool(orjson.loads(last.result_json or "{}").get("stopped"))


def _told(found):
    decided = sum(result["decided"] for result in found)
    stopped = " ".join(result["stopped"] for result in found if result["stopped"])
    judged = _("Judged: %(turns)s.") % {"turns": amounts.of("turns", decided)}
    message = f"{judged} {stopped}".strip()
    if stopped and not decided:
        raise Refused(stopped)
    return {"message": message, "stopped": stopped, "agents": found}


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in gate: new turns"),
    started=gettext_lazy("started the built-in gate for new turns"),
    kept=gettext_lazy("Decisions so far are kept; the next run continues."),
    done=lambda result: str(result["message"]),
    every=Every(gates.ENABLED, MINUTE_MS, dict, is_possible, is_switch=True),
)
