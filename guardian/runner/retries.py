"""Proposes a write again, with another fact or file.

The built-in guardian handles it, and the result is a proposal.
"""

from typing import Any

from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from agents.runners import launch
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Listener
from ledger import consent
from openclaw_web import clock
from openclaw_web.errors import Refused

from ..files import LONGEST_FACT, MEMORY_FILES
from ..models import GuardianRun, WriteGuardianAudit
from ..rollbacks.rollback_plan import NoSuchWrite
from . import job
from .llm.config import RUNNER


def find_write(db: str, audit_id: str) -> WriteGuardianAudit:
    """Return the write that is proposed again. Raises NoSuchWrite."""
    audit = WriteGuardianAudit.objects.using(db).filter(id=audit_id).first()
    if audit is None:
        raise NoSuchWrite(_("This agent has no write %(id)s.") % {"id": audit_id})
    return audit


def build_run(agent: Agent, audit_id: str, *, fact: str | None, file: str | None, by: str) -> GuardianRun:
    """Build the run that proposes a write again; it is not stored.

    Without a new fact or file it has the write's own. Raises NoSuchWrite, and Refused for a fact or file that is not
    valid and for words that may not be used.
    """
    audit = find_write(agent.db, audit_id)
    fact, file = (fact or audit.candidate_fact or "").strip(), file or audit.target_file
    if not fact or len(fact) > LONGEST_FACT:
        raise Refused(_("Say the fact, in at most 20,000 characters."))
    if file not in MEMORY_FILES:
        raise Refused(_("%(file)s is not a memory file.") % {"file": file or "–"})
    if consent.find_withheld_keys(agent.db, [audit.turn_id]):
        raise Refused(_("Nothing is sent: somebody of this conversation has opted out."))
    return GuardianRun(
        id=str(ULID()),
        decision_id=audit.decision_id,
        turn_id=audit.turn_id,
        session_id=audit.session_id,
        session_key=audit.session_key,
        target_file=file,
        candidate_fact=fact,
        retry_of=audit.id,
        state=GuardianRun.State.QUEUED,
        started_by=by,
        created_at=clock.now_ms(),
    )


def start(agent: Agent, run: GuardianRun, *, by: str) -> JobRun:
    """Queue the run as a job.

    Raises Refused when nothing may be sent, or a run of this agent is queued or running already.
    """
    job.check(agent)
    with launch.exclusive_start(RUNNER, agent):
        run.save(using=agent.db, force_insert=True)
        return jobs.start(RUNNER.kind, _params(agent, run), by=by)


def run_here(agent: Agent, run: GuardianRun, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run it in this process and return the job, however it ended.

    Raises Refused when nothing may be sent, or while another run is running.
    """
    job.check(agent)
    with launch.exclusive_run(RUNNER, agent.agent_id):  # another run that starts first is named in the job's row
        run.save(using=agent.db, force_insert=True)
    return job.run_here(agent, _params(agent, run), by=by, listener=listener)


def _params(agent, run) -> dict[str, Any]:
    return {"agent": agent.agent_id, "run": run.id, "before_at": run.created_at}
