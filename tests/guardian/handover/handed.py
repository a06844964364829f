"""Writes of an agent with a record, handed back to it."""

import json

from guardian.handover import handovers
from guardian.models import Handover, Rollback, WriteGuardianAudit
from guardian.rollbacks import rollback_plan
from guardian.rollbacks.service import RollbackRequest
from jobs import services as jobs
from jobs.models import JobRun
from tests.guardian.written import wrote

DB, NAME = "agent_ada", "MEMORY.md"
BEFORE, AFTER = b"# Facts\n- Tea at four.\n", b"# Facts\n- Tea at four.\n- Likes coal.\n"


def remembered(home, number=1, before=BEFORE, after=AFTER, name=NAME):
    """A write of the agent, which OpenClaw's record names."""
    audit = wrote(DB, number, before, after, target_file=name)
    home.file(name, after, "ada")
    home.record(name, after, agent="ada")
    return audit


def hand_over(ada, audit_id="w1", **more):
    """Hand the rollback of a write to the agent, and run its job here; the handover afterwards, and its job."""
    seen = rollback_plan.plan_rollback(ada, audit_id, hunk=more.get("hunk")).seen
    row = handovers.hand_over_rollback(ada, audit_id, RollbackRequest("otto", "Not true."), seen=seen, **more)
    return run(ada, row)


def run(ada, row, listener=None):
    job = jobs.run_now("guardian_handover", handovers.build_params(ada, row), by="otto", listener=listener)
    return Handover.objects.using(DB).get(id=row.id), job


def held(home, name=NAME):
    return (home.workspace("ada") / name).read_bytes()


def audit(audit_id="w1"):
    return WriteGuardianAudit.objects.using(DB).get(id=audit_id)


def rollbacks():
    return list(Rollback.objects.using(DB).all())


def data_in(message):
    """What a message quotes."""
    return json.loads(message.split("---")[2])


def is_finished(job):
    return job.state == JobRun.State.FINISHED
