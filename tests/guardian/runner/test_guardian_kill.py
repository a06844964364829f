"""Our own guardian, killed in runs, unattended writes and approvals: file and database agree afterwards."""

import json
import time

import pytest

from tests.guardian.faults.process_kills import INTENTS, LAST, RECOVER, RUNS, Killer, open_site, read_rows
from tests.llm_endpoint import Endpoint, answer, sends
from tests.processes import FEW, until_met, wait_for

pytestmark = pytest.mark.kill
SETTINGS = {
    "writeGuardian.enabled": True,
    "llm.model": "small",
    "writeGuardian.tokensPerDay": 0,
    "writeGuardian.unattendedWritesPerDay": 1_000,
}
SET = """
from agents.models import Agent
from people.configuration import setting_values as configuration
from guardian.runner import unattended_writes
configuration.put_all({values!r})
unattended_writes.turn_on(Agent.objects.get(), "MEMORY.md", by="root")
print("set")
"""
# New facts for ever: those for MEMORY.md are written unattended, those for USER.md are proposed and then approved.
WORK = """
import itertools, time
from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian.models import GuardianRun
from guardian.runner import job, proposals
from guardian.rollbacks import apply
from guardian.rollbacks.apply import FileChanged
from jobs.progress import Progress
from openclaw_web import clock
apply.LOOKS = (0.0,)
main = Agent.objects.get()

def decide(number, decision):
    MemoryGateDecision.objects.using(main.db).create(
        id=f"d{number}", session_id="s", decision=decision, reason="r", candidate_fact=f"fact {number}",
        created_at=clock.now_ms(), origin="own")

def approve():
    for one in GuardianRun.objects.using(main.db).filter(state="proposed", target_file="USER.md"):
        try:
            proposals.approve(main, one.id, by="otto", seen=proposals.preview(main, one).seen)
        except FileChanged:  # the fact of a killed run was handled again, together with a new one
            proposals.decline(main, one.id, by="otto", reason="out of date")

print("working", flush=True)
for number in itertools.count(MemoryGateDecision.objects.using(main.db).count()):
    decide(number, "UPDATE_MEMORY" if number % 2 else "UPDATE_USER")
    if number % 2:
        job.NEW_FACTS_JOB.run({}, Progress())
    else:
        job.run({"agent": "main", "before_at": clock.now_ms() + 1}, Progress())
        approve()
"""
DECIDE = """
from agents.models import Agent
from gate.models import MemoryGateDecision
from openclaw_web import clock
for number in range(20):
    MemoryGateDecision.objects.using(Agent.objects.get().db).create(
        id=f"d{number}", session_id="s", decision="UPDATE_USER", reason="r", candidate_fact=f"fact {number}",
        created_at=clock.now_ms(), origin="own")
print("decided")
"""
PAGE_RUN = """
from agents.models import Agent
from guardian.runner import job
from guardian.runner.fact_selection import FactChoice
print(job.start_run(Agent.objects.get(), FactChoice(), by="otto").id)
"""
PROPOSED = "SELECT count(*), count(DISTINCT decision_id) FROM guardian_runs WHERE state = 'proposed'"


def model(handler):
    """Answer as a model that reads the file of the fact, then adds one line."""
    messages = handler.request_read.question["messages"]
    fact = json.loads(messages[1]["content"])
    tool, arguments = "read", {"file": fact["targetFile"]}
    if messages[-1]["role"] == "tool":
        content = json.loads(messages[-1]["content"]).get("content", "")
        tool, arguments = "write", arguments | {"content": f"{content}- {fact['candidateFact']}\n"}
    value = answer(None, prompt_tokens=100, completion_tokens=20)
    called = {"id": "c", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    value["choices"][0]["message"]["tool_calls"] = [called]
    sends(value)(handler)


@pytest.fixture
def site(tmp_path, migrated):
    with open_site(tmp_path, migrated) as site, Endpoint(model) as site.endpoint:
        site.env["OPENCLAW_WEB_LLM_URL"] = site.endpoint.url
        assert "set" in site.python(SET.format(values=SETTINGS))
        yield site


def check(site):
    """Check that files, writes and runs agree.

    Each file holds what the last write left there, line by line, and every write belongs to a run that names it.
    """
    names = {"MEMORY.md", "USER.md"}
    assert [path.name for path in site.folder.iterdir() if path.name not in names] == []
    assert read_rows(site, INTENTS) == [(0,)]
    for name in sorted(names):
        file = site.folder / name
        last = read_rows(site, LAST.format(side="after", name=name))
        assert (file.read_text() if file.exists() else None) == (last[0][0] if last else None)
    written = "SELECT id FROM write_guardian_audit WHERE status = 'written' AND origin = 'own' ORDER BY id"
    assert read_rows(site, written) == read_rows(
        site, "SELECT audit_id FROM guardian_runs WHERE state = 'written' ORDER BY audit_id"
    )
    twice = """SELECT decision_id FROM write_guardian_audit WHERE decision_id IS NOT NULL
               GROUP BY decision_id HAVING count(*) > 1"""
    assert read_rows(site, twice) == []
    assert read_rows(site, "SELECT count(*) FROM guardian_steps WHERE outcome = 'failed'") == [(0,)]


def has_met_both(site):
    """Whether there are writes of the guardian and of a person, and a run or an intent that a kill interrupted."""
    by = dict(read_rows(site, "SELECT decided_by, count(*) FROM guardian_runs WHERE state = 'written' GROUP BY 1"))
    stopped = read_rows(site, "SELECT count(*) FROM guardian_runs WHERE state = 'stopped'")[0][0]
    undone = read_rows(site, "SELECT count(*) FROM rollback_intents WHERE state = 'undone'")[0][0]
    return {"guardian", "otto"} <= by.keys() and stopped + undone > 0


def test_kills_leave_file_and_database_in_agreement(site):
    killer = Killer(site, 14, pause=1.0)
    # Of runs, unattended writes and approvals.
    for number in until_met(killer, kills=3 * FEW, and_until=lambda: has_met_both(site)):
        work = RUNS.format(since=int(time.time() * 1000)) if number % 3 == 0 else INTENTS
        process = site.start("shell", "--no-imports", "-c", WORK)
        wait_for(lambda process=process: "working" in process.said or process.popen.poll() is not None)
        killer.kill(process, work)
        site.python(RECOVER)
        check(site)
    assert has_met_both(site)
