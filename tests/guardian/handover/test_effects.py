"""Effects of a write on a file's place in the prompt: shown, accepted, stored.

They are shown on pages, in the API and by a verb before the write is made.
"""

import json
import re

import pytest
from django.urls import reverse

from guardian.models import GuardianRun, Handover, Rollback
from guardian.runner import proposals, unattended_writes
from guardian.runner.unattended_writes import turn_on
from jobs.execution import run_next
from jobs.models import JobRun
from openclaw_web.disk import packing
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests import faults
from tests.guardian.rollbacks.rolled_back_writes import run_verb
from tests.guardian.rollbacks.test_rollback import read_seen

from .handover_rows import AFTER, BEFORE, DB, NAME, create_recorded_write, get_write, list_rollbacks, read_file

API = "/api/v1/agents/ada/guardian"
SENT = {"reason": "Not true.", "keeps_copy": "on"}
pytestmark = pytest.mark.django_db


def page(name="rollback", key="w1"):
    return reverse(f"guardian:{name}", args=["ada", key])


def post(client, address, **body):
    return client.post(address, body, "application/json")


def create_proposal(name=NAME, before=AFTER, after=AFTER + b"- Tea.\n"):
    """Store a proposal that waits for approval."""
    packed = {"before_zstd": packing.pack(before), "after_zstd": packing.pack(after)}
    columns = {"target_file": name, "candidate_fact": "Likes tea.", "started_by": "root", "created_at": 1}
    GuardianRun(id="p1", state="proposed", **columns, **packed).save(using=DB)
    return GuardianRun.objects.using(DB).get(id="p1")


@pytest.mark.parametrize("origin", ["agent", "untrusted", "unknown", "none", "recorded before"])
def test_the_preview_says_the_effect(as_operator, home, origin):
    create_recorded_write(home)
    records = {
        "untrusted": lambda: home.record(NAME, AFTER, "untrusted", agent="ada"),
        "unknown": lambda: home.record(NAME, AFTER, agent="ada", version=9),
        "none": lambda: home.forget(NAME, "ada"),
        "recorded before": lambda: home.record(NAME, BEFORE, agent="ada"),
    }
    records.get(origin, lambda: None)()
    plan = as_operator.get(f"{API}/writes/w1/rollback").json()
    effect = {"agent": "taken_out", "unknown": "unknown"}.get(origin, "nothing")
    assert plan["effect"] == effect and NAME in plan["effect_sentence"]
    words = as_operator.get(page()).content.decode()
    is_harmful = effect != "nothing"
    assert ("Write now, knowing this" in words) == is_harmful and (
        "Roll back this write</button>" in words
    ) != is_harmful
    assert "Hand to the agent" not in words and ("OPENCLAW_WEB_OPENCLAW" in words) == is_harmful


def test_on_the_page_a_write_is_made_knowing_it(as_operator, home):
    create_recorded_write(home)
    preview = as_operator.get(page())
    assert "takes MEMORY.md out of the prompt" in preview.content.decode()
    refused = as_operator.post(page("rollback_do"), SENT | {"seen": read_seen(preview)})
    assert refused.status_code == 422 and read_file(home) == AFTER
    done = as_operator.post(page("rollback_do"), SENT | {"seen": read_seen(preview), "write_now": "1"})
    assert done.status_code == 302 and read_file(home) == BEFORE and list_rollbacks()[0].effect == "taken_out"
    assert json.loads(AuditEntry.objects.get(action="write_rolled_back").detail_json)["effect"] == "taken_out"
    assert "Written knowing" in as_operator.get(page("audit_detail")).content.decode()


def test_a_conflict_that_a_person_chooses_is_handed_over(ada, as_operator, home, command):
    create_recorded_write(home)
    now = AFTER.replace(b"coal", b"coal and ice")
    home.file(NAME, now, "ada")
    home.record(NAME, now, agent="ada")
    preview = as_operator.get(page())
    words = preview.content.decode()
    assert "Hand to the agent" in words and "Write now, knowing this" in words and "Save this version" not in words
    assert "takes MEMORY.md out of the prompt" in words
    sent = SENT | {"seen": read_seen(preview), "content": "# Facts\r\n- Chosen.\r\n"}
    assert as_operator.post(page("rollback_do"), sent).status_code == 422 and read_file(home) == now
    assert as_operator.post(page("rollback_hand_over"), sent).status_code == 302
    run_next()
    assert read_file(home) == b"# Facts\n- Chosen.\n" and list_rollbacks()[0].way == "chosen"


def test_a_form_without_a_reason_and_a_switch_that_is_off(as_operator, home, command):
    create_recorded_write(home)
    first = read_seen(as_operator.get(page()))
    assert as_operator.post(page("rollback_hand_over"), {"reason": " ", "seen": first}).status_code == 422
    configuration.put("writeGuardian.handOver", False)
    refused = as_operator.post(page("rollback_hand_over"), SENT | {"seen": first})
    assert refused.status_code == 422 and "writeGuardian.handOver is off" in refused.content.decode()
    assert not command.starts and not Handover.objects.using(DB).exists()


def test_the_api(as_operator, home, command):
    create_recorded_write(home)
    plan = as_operator.get(f"{API}/writes/w1/rollback").json()
    assert plan["handover"] == {"is_needed": True, "puts_back": False, "problem": ""}
    refused = post(as_operator, f"{API}/writes/w1/rollback", reason="No.", seen=plan["seen"])
    assert refused.status_code == 409 and "out of the prompt" in refused.json()["detail"]
    started = post(as_operator, f"{API}/writes/w1/handover", reason="No.", seen=plan["seen"])
    assert started.status_code == 202 and started.json()["job"]["kind"] == "guardian_handover"
    started_handover = started.json()["handover"]
    assert (started_handover["state"], started_handover["outcome"]) == ("queued", "")
    assert post(as_operator, f"{API}/handovers/{started_handover['id']}/check").status_code == 409
    handover = as_operator.get(f"{API}/handovers/{started_handover['id']}").json()
    assert handover["sentence"] == "The agent is being asked."
    assert as_operator.get(f"{API}/handovers/none").status_code == 404
    configuration.put("writeGuardian.handOver", False)
    assert as_operator.get(f"{API}/writes/w1/rollback").json()["handover"]["problem"]


def test_the_api_writes_knowing_it(as_operator, home):
    create_recorded_write(home)
    plan = as_operator.get(f"{API}/writes/w1/rollback").json()
    done = post(as_operator, f"{API}/writes/w1/rollback", reason="No.", seen=plan["seen"], write_now=True)
    assert done.status_code == 200 and read_file(home) == BEFORE and list_rollbacks()[0].effect == "taken_out"


def test_the_verb(home, command):
    create_recorded_write(home)
    code, output = run_verb("w1", "--preview")
    assert code == 0 and json.loads(output)["effect"] == "taken_out"
    assert run_verb("w1", "--reason", "No.")[0] == 3 and read_file(home) == AFTER
    assert run_verb("w1", "--reason", "No.", "--put-back")[0] == 2
    assert run_verb("w1", "--reason", "No.", "--hand-over", "--write-now")[0] == 2
    assert run_verb("--session", "s1", "--reason", "No.", "--hand-over")[0] == 2
    command.does("other")
    code, output = run_verb("w1", "--reason", "No.", "--hand-over")
    assert code == 4 and json.loads(output)["outcome"] == "other"
    home.file(NAME, AFTER, "ada")
    home.record(NAME, AFTER, agent="ada")
    command.does("obeys")
    code, output = run_verb("w1", "--reason", "No.", "--hand-over")
    assert code == 0 and json.loads(output)["outcome"] == "done" and read_file(home) == BEFORE
    configuration.put("writeGuardian.handOver", False)
    create_recorded_write(home, 2)
    assert run_verb("w2", "--reason", "No.", "--hand-over")[0] == 3 and len(command.starts) == 2
    assert run_verb("w2", "--reason", "No.", "--write-now")[0] == 0 and read_file(home) == BEFORE


def test_a_session_is_rolled_back_knowing_it_and_never_handed_over(as_operator, home, command):
    create_recorded_write(home)
    address = f"{API}/sessions/s1/rollback"
    plan = as_operator.get(address).json()
    assert plan["effect"] == "taken_out" and "handover" not in plan
    words = as_operator.get(page("session_rollback", "s1")).content.decode()
    assert "Write now, knowing this" in words and "one by one" in words and "Hand to the agent" not in words
    assert post(as_operator, address, reason="All.", seen=plan["hashes"]).status_code == 409
    assert post(as_operator, address, reason="All.", seen=plan["hashes"], write_now=True).status_code == 200
    assert read_file(home) == BEFORE and Rollback.objects.using(DB).get().effect == "taken_out"


def test_a_proposal(as_operator, home, command):
    create_recorded_write(home)
    run = create_proposal()
    address = f"{API}/proposals/p1"
    proposal = as_operator.get(address).json()
    assert (proposal["effect"], proposal["handover"]["is_needed"]) == ("taken_out", True)
    words = as_operator.get(reverse("guardian:proposal_detail", args=["ada", "p1"])).content.decode()
    assert "Hand to the agent" in words and "Write now, knowing this" in words
    assert post(as_operator, f"{address}/approve", seen=proposal["seen"]).status_code == 409
    started = post(as_operator, f"{address}/handover", seen=proposal["seen"]).json()
    assert started["handover"]["run_id"] == "p1"
    run_next()
    run.refresh_from_db()
    own = get_write(started["handover"]["own_audit_id"])
    assert (run.state, run.audit_id, own.origin, own.candidate_fact) == ("written", own.id, "own", "Likes tea.")
    assert read_file(home) == AFTER + b"- Tea.\n"


def test_a_proposal_is_written_knowing_it(as_operator, home):
    create_recorded_write(home)
    create_proposal()
    address = reverse("guardian:proposal_approve", args=["ada", "p1"])
    seen_hash = as_operator.get(f"{API}/proposals/p1").json()["seen"]
    as_operator.post(address, {"seen": seen_hash})
    assert read_file(home) == AFTER
    as_operator.post(address, {"seen": seen_hash, "write_now": "1"})
    assert read_file(home) == AFTER + b"- Tea.\n"
    assert json.loads(AuditEntry.objects.get(action="proposal_approved").detail_json) == {"effect": "taken_out"}


def test_what_was_written_meanwhile_is_put_in_knowing_it(as_operator, home):
    create_recorded_write(home)
    first, agent = read_seen(as_operator.get(page())), (home.workspace("ada") / NAME).open("r+b")
    late = faults.before_file_event(
        "open", lambda path: path.endswith(".rollback"), lambda: (agent.write(b"L\n"), agent.flush())
    )
    with agent, late:
        as_operator.post(page("rollback_do"), SENT | {"seen": first, "write_now": "1"})
    words = as_operator.get(page("audit_detail")).content.decode()
    assert "takes MEMORY.md out of the prompt" in words and 'name="write_now" value="1"' in words
    version = re.search(r'name="version" value="([^"]+)"', words)[1]
    sent = {"version": version, "choice": "put", "seen": re.search(r'name="seen" value="(\w+)"', words)[1]}
    as_operator.post(page("rollback_settle"), sent)
    assert read_file(home) == BEFORE
    as_operator.post(page("rollback_settle"), sent | {"write_now": "1"})
    assert read_file(home).startswith(b"L\n")


@pytest.mark.parametrize("is_recorded", [True, False])
def test_unattended_writing_leaves_files_with_a_record_alone(ada, home, settings, is_recorded):
    settings.LLM_API_URL = "http://127.0.0.1:9/v1"
    turn_on(ada, NAME, by="root")
    if is_recorded:
        home.record(NAME, AFTER, "untrusted", agent="ada")
    home.file(NAME, AFTER, "ada")
    unattended_writes.write_or_note(ada, create_proposal())
    run = proposals.find(DB, "p1")
    assert run.state == ("proposed" if is_recorded else "written")
    assert ("keeps a record" in run.note) == is_recorded and not JobRun.objects.exists()
