"""Writes of an agent with a record, whose rollbacks are handed over to the agent."""

import json

from guardian.handover import handovers
from guardian.models import Handover, Rollback, WriteGuardianAudit
from guardian.rollbacks import rollback_plan
from guardian.rollbacks.service import RollbackRequest
from jobs import services as jobs
from jobs.models import JobRun
from tests.guardian.write_rows import create_write

DB, NAME = "agent_ada", "MEMORY.md"
BEFORE, AFTER = b"# Facts\n- Tea at four.\n", b"# Facts\n- Tea at four.\n- Likes coal.\n"


def create_recorded_write(home, number=1, before=BEFORE, after=AFTER, name=NAME):
    """Store a write of the agent that OpenClaw's record names."""
    audit = create_write(DB, number, before, after, target_file=name)
    home.file(name, after, "ada")
    home.record(name, after, agent="ada")
    return audit


def hand_over(ada, audit_id="w1", *, listener=None, **more):
    """Hand the rollback of a write to the agent, and run its job here.

    Returns the handover and its job, as they are afterwards.
    """
    seen = rollback_plan.plan_rollback(ada, audit_id, hunk=more.get("hunk")).seen
    row = handovers.hand_over_rollback(ada, audit_id, RollbackRequest("otto", "Not true."), seen=seen, **more)
    return run_handover(ada, row, listener)


def run_handover(ada, row, listener=None):
    job = jobs.run_now("guardian_handover", handovers.build_params(ada, row), by="otto", listener=listener)
    return Handover.objects.using(DB).get(id=row.id), job


def read_file(home, name=NAME):
    return (home.workspace("ada") / name).read_bytes()


def get_write(audit_id="w1"):
    return WriteGuardianAudit.objects.using(DB).get(id=audit_id)


def list_rollbacks():
    return list(Rollback.objects.using(DB).all())


def parse_data(message):
    """Return the data that a message quotes."""
    return json.loads(message.split("---")[2])


def is_finished(job):
    return job.state == JobRun.State.FINISHED
