"""Everything that stems from a message is on one page, with a plan that says what it can take back."""

import orjson
import pytest

from guardian import services
from operations.models import Remediation
from tests.factories import EventFactory, SessionFactory, TurnFactory
from tests.guardian.write_rows import T0, create_write
from tests.operations.poisonings import PAGE, START, list_states, poison, read_seen, run_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def poisoned(real_files, ada, settings, tmp_path, monkeypatch):
    return poison(real_files, ada, settings, tmp_path, monkeypatch)


def test_what_changed_since_is_refused_and_named(poisoned, as_operator):
    page = as_operator.get(PAGE).content.decode()
    poisoned["file"].write_bytes(b"# Other\n")
    answer = as_operator.post(START, {"reason": "Not true.", "seen": read_seen(page)})
    assert answer.status_code == 409 and "has changed since the preview" in answer.content.decode()
    assert as_operator.post(START, {"reason": "", "seen": read_seen(page)}).status_code == 422
    assert not Remediation.objects.exists()
    poisoned["file"].write_bytes(poisoned["after"])
    as_operator.post(START, {"reason": "Not true.", "seen": read_seen(page)})
    poisoned["file"].write_bytes(poisoned["after"].replace(b"glazed", b"raw"))
    run_job()
    kinds = [kind for kind, state in list_states() if state == "failed"]
    assert kinds == ["write", "write"]
    detail = as_operator.get(Remediation.objects.get().get_absolute_url()).content.decode()
    assert "has changed since the preview" in detail
    assert poisoned["file"].read_bytes() == poisoned["after"].replace(b"glazed", b"raw")


def test_writes_of_the_agents_own_tools_and_notes_belong_to_it(real_files, ada, as_operator):
    session = SessionFactory(id="s1")
    TurnFactory(session=session, turn_number=1, first_seq=1, last_seq=3, created_at=T0)
    calls = [("MEMORY.md", "# Notes\n- a false thing\n"), ("memory/2026-02-02.md", "# Day\n- a false thing\n")]
    for seq, (name, content) in enumerate(calls, start=2):
        arguments = {"path": f"/home/me/workspace/{name}", "content": content}
        call = {"type": "toolCall", "id": f"c{seq}", "name": "write", "arguments": arguments}
        message = {"role": "assistant", "content": [call]}
        record = orjson.dumps({"type": "message", "id": f"m{seq}", "message": message}).decode()
        columns = {"event_json": record, "tool_call_count": 1, "turn_number": 1, "created_at": T0 + 1000}
        EventFactory(session=session, seq=seq, event_id=f"m{seq}", kind="assistant", **columns)
    services.store_version("agent_ada", "MEMORY.md", b"# Notes\n", modified_ms=T0 - 5000)
    create_write(
        "agent_ada", 2, b"# Notes\n", calls[0][1].encode(), origin="unattributed", session_id=None, candidate_fact=None
    )
    services.store_version("agent_ada", calls[1][0], calls[1][1].encode(), modified_ms=T0 + 2000)
    page = as_operator.get(PAGE).content.decode()
    assert "memory/2026-02-02.md" in page and "This site changes no daily notes" in page
    chain = as_operator.get("/api/v1/chain", {"kind": "write", "id": "w2", "agent": "ada"}).json()["steps"]
    steps = {step["step"]: [item["id"] for item in step["items"]] for step in chain}
    assert steps["turn"] == ["s1:u1"]
    assert "/agents/ada/writes/w2/" in page


@pytest.mark.parametrize("address", ["/agents/ada/remediation/of/s9:u1/", "/agents/ada/remediation/plan/nothing/"])
def test_what_is_not_stored_is_not_found(poisoned, as_operator, address):
    assert as_operator.get(address).status_code == 404
