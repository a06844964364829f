"""`reflection guardian rollback --hand-over`: the agent carries out the change itself, and the command waits for it."""

import sys

from django.utils.translation import gettext as _

from agents.models import Agent
from gate.verbs import model_verbs
from jobs import services as jobs
from jobs.progress import open_listener
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import DONE, PARTLY

from ..handover import handovers
from ..handover.outcomes import Outcome as Result
from ..rollbacks.service import RollbackRequest
from ..standing.effects import JOB_KIND
from . import BY


def run_handover(agent: Agent, audit_id: str, hunk: int | None, wish: RollbackRequest, *, puts_back: bool) -> Outcome:
    """Hand the rollback of a write, or of one change of it, to the agent; what became of it."""
    row = handovers.hand_over_rollback(agent, audit_id, wish, seen=None, hunk=hunk, puts_back=puts_back)
    with open_listener(sys.stderr) as listener:
        job = jobs.run_now(JOB_KIND, handovers.build_params(agent, row), by=BY, listener=listener)
    result = model_verbs.read_job_result(job)
    words = [result["message"], _("Handover %(id)s.") % {"id": row.id}]
    is_done = result["outcome"] == Result.DONE
    return Outcome(result, " ".join(words), DONE if is_done else PARTLY, "" if is_done else result["message"])
