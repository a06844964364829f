"""A false fact with everything that stems from it, and the plan that takes it back."""

import orjson

from jobs import services as jobs
from jobs.models import JobRun
from operations.models import RemediationStep
from search import fill
from tests.factories import EventFactory, SampleFactory, SessionFactory, TurnFactory
from tests.guardian.rollbacks.workspaces import open_workspace
from tests.guardian.write_rows import T0, create_write
from tests.operations.chain_links import create_links

PAGE, START = "/agents/ada/remediation/of/s1:u1/", "/agents/ada/remediation/start/s1:u1/"
FACT = "- the kiln of Zorb holds 4117 glazed bricks on Tuesdays\n"


def run_job():
    return jobs.run_started(JobRun.objects.get(state="queued", kind="remediation"))


def read_seen(page):
    return page.partition('name="seen" value="')[2].partition('"')[0]


def list_states():
    rows = RemediationStep.objects.order_by("remediation_id", "number")
    return [(row.kind, row.state) for row in rows]


def poison(real_files, ada, settings, tmp_path, monkeypatch):
    """A false fact of Mei in MEMORY.md, a sample that was released and downloaded, and an answer that repeats it."""
    folder = open_workspace(ada, settings, tmp_path, monkeypatch)
    settings.HOME_DIR = tmp_path
    (real_files / "agents" / "ada" / "agent").mkdir(parents=True)
    links = create_links()
    before = b"# Notes\n- likes green tea\n"
    create_write("agent_ada", 2, before, before + FACT.encode(), decision_id="d1", turn_id="s1:u1")
    (folder / "MEMORY.md").write_bytes(before + FACT.encode())
    other = SessionFactory(id="s2", title="Later", origin="direct", session_key="agent:ada:telegram:direct:8")
    message = {"role": "assistant", "content": [{"type": "text", "text": f"Yes: {FACT[2:].strip()}."}]}
    record = orjson.dumps({"type": "message", "id": "r1", "message": message}).decode()
    EventFactory(
        session=other, seq=2, event_id="r1", kind="assistant", event_json=record, turn_number=1, created_at=T0 + 9000
    )
    TurnFactory(session=other, turn_number=1, created_at=T0 + 8000, first_seq=1, last_seq=2, agent_message_id="r1")
    SampleFactory(id="x2", session_id="s2", turn_id="s2:u1", turn_number=1, annotation_status="approved")
    fill.fill_all()
    return links | {"file": folder / "MEMORY.md", "before": b"# Notes\n", "after": before + FACT.encode()}
