"""Runs of collecting within a test, and turns with everything that criteria read."""

import orjson

from datasets.collection import job, runs, strategies
from datasets.models import TurnOutcome
from jobs import execution
from jobs.models import JobRun
from jobs.progress import Progress
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision
from tests.guardian.write_rows import create_write

DB = "agent_ada"
BEFORE, AFTER = b"# Memory\n", b"# Memory\nLikes tea.\n"
LOOSE = {"wasWritten": "on", "notRolledBackWithinDays": "0", "minQualityScore": "0", "mediumQualityFrom": "0"}
LOOSE |= {"highQualityFrom": "1", "tried": "1"}  # a form
EASY = {"noUserObjection": False, "minQualityScore": 0, "notRolledBackWithinDays": 0}


def store_written(turns=3):
    """A session whose second turn has a decision that was written."""
    store_turns(turns)
    store_decision(candidate_fact="Likes tea.")
    return create_write(DB, 1, BEFORE, AFTER, turn_id="s1:u2", decision_id="d1")


def collect(**options):
    """Do a run; return its counts."""
    return runs.perform(runs.create_run(by="ann", **options), Progress()).counts


def collect_new():
    """Do what the job behind imports does; return its result."""
    return job.run({}, Progress())


def save(**changes):
    return strategies.save_version(changes, by="ann")


def read_outcome(turn_id="s1:u2"):
    return TurnOutcome.Outcome(TurnOutcome.objects.get(turn_id=turn_id).outcome).label


def read_evidence(sample):
    return {row.criterion: (row.answer, row.source_kind, row.source_id) for row in sample.evidence.all()}


def run_jobs():
    """Run what a page or the API has queued."""
    for queued in JobRun.objects.filter(state="queued", kind="collection"):
        execution.run(queued.id)


def text(response):
    assert response.status_code == 200, response.content
    return response.content.decode()


def post_json(client, path, body):
    return client.post(f"/api/v1{path}", orjson.dumps(body), content_type="application/json")
