"""Everything that stems from a message is on one page, with a plan that says what it can take back."""

import orjson
import pytest

from datasets.models import DatasetSample
from guardian import services
from guardian.rollbacks import service
from operations.models import Remediation
from tests.factories import EventFactory, SampleFactory, SessionFactory, TurnFactory
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


def read_plan(browser):
    return browser.get("/api/v1/agents/ada/remediation", {"turn": "s1:u1"}).json()


def test_lines_of_other_messages_that_came_back_together_stay(poisoned, ada, as_operator):
    after = poisoned["after"] + b"- another line\n"
    create_write("agent_ada", 3, poisoned["after"], after, turn_id="s1:u2")
    poisoned["file"].write_bytes(after)
    request = service.RollbackRequest("otto", "All of it.")
    together, *_others = service.roll_back_session(ada, "s1", request, seen=None)
    service.roll_back(ada, together.own_audit_id, request, seen=None)
    assert poisoned["file"].read_bytes() == after
    problems = [step["problem"] for step in read_plan(as_operator)["plan"] if step["kind"] == "write"]
    assert len(problems) == 1 and "lines of other messages" in problems[0]


def test_a_file_that_is_gone_is_named(poisoned, as_operator):
    poisoned["file"].unlink()
    problems = {step["problem"] for step in read_plan(as_operator)["plan"] if step["kind"] == "write"}
    assert problems == {"MEMORY.md is not in the workspace any more."}


def test_answers_that_repeat_any_of_many_lines_are_listed(poisoned, as_operator):
    lines = b"".join(b"- line %d about nothing in particular here\n" % number for number in range(12))
    create_write("agent_ada", 0, b"", b"# Notes\n" + lines, decision_id="d1", turn_id="s1:u1")
    plan = read_plan(as_operator)
    assert plan["answers"] == [{"session_id": "s2", "turn_number": 1}] and not plan["is_cut"]


def test_more_lines_or_samples_than_are_listed_are_said(poisoned, as_operator):
    for number in range(60):
        SampleFactory(id=f"y{number}", session_id="s1", turn_id="s1:u1", annotation_status="pending")
    plan = read_plan(as_operator)
    assert plan["is_cut"]
    assert any(step["kind"] == "download" for step in plan["plan"])  # of the sample that was approved
    DatasetSample.objects.filter(id__startswith="y").delete()
    after = poisoned["after"] + b"".join(b"- line %d\n" % number for number in range(300))
    create_write("agent_ada", 3, poisoned["after"], after, decision_id="d1", turn_id="s1:u1")
    poisoned["file"].write_bytes(after)
    plan = read_plan(as_operator)
    items = {step["step"]: len(step["items"]) for step in plan["chain"]}
    assert plan["is_cut"] and items["line"] == 200


@pytest.mark.parametrize(
    ("disabled", "kinds"), [("datasets", {"write"}), ("guardian", {"reject", "review", "release", "download"})]
)
def test_what_is_switched_off_is_not_planned(poisoned, settings, as_operator, disabled, kinds):
    settings.DISABLED = {disabled}
    assert {step["kind"] for step in read_plan(as_operator)["plan"]} <= kinds


@pytest.mark.parametrize("address", ["/agents/ada/remediation/of/s9:u1/", "/agents/ada/remediation/plan/nothing/"])
def test_what_is_not_stored_is_not_found(poisoned, as_operator, address):
    assert as_operator.get(address).status_code == 404
