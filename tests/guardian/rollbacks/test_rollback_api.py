"""Rollbacks through the API and the verb: previews, results named as in the spec, refusals."""

import base64
import json

import pytest

from guardian import services
from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from tests.guardian.write_rows import T0, create_write
from tests.suite.commands import read_answer

from .rolled_back_writes import run_verb

DB = "agent_ada"
WRITES = "/api/v1/agents/ada/guardian/writes"
pytestmark = pytest.mark.django_db


def post(client, address, **body):
    return client.post(address, body, "application/json")


def test_it_works(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    plan = as_operator.get(f"{WRITES}/w1/rollback").json()
    assert plan["way"] == "exact" and not plan["has_changed"] and plan["patch"].endswith("-b\n") and not plan["problem"]
    done = post(as_operator, f"{WRITES}/w1/rollback", reason="Wrong.", seen=plan["seen"]).json()
    assert done["success"] and done["restoredTo"] == T0 + 1000 - 1 and done["rollbackId"]
    assert file.read_bytes() == b"a\n"
    again = post(as_operator, f"{WRITES}/w1/rollback", reason="Wrong.", seen=plan["seen"])
    assert again.status_code == 409 and "already" in again.json()["detail"]
    assert as_operator.get(f"{WRITES}/w9/rollback").status_code == 404


def test_a_conflict_takes_the_content_byte_for_byte(as_operator, file):
    create_write(DB, 1, b"a\nb\n", b"a\nB\n")
    file.write_bytes(b"a\n\xff\x00\n")
    plan = as_operator.get(f"{WRITES}/w1/rollback").json()
    assert [conflict["hunk"] for conflict in plan["conflicts"]] == [0]
    body = {"reason": "Wrong.", "seen": plan["seen"]}
    assert post(as_operator, f"{WRITES}/w1/rollback", **body).status_code == 409
    wrong = post(as_operator, f"{WRITES}/w1/rollback", content_base64="no base64", **body)
    assert wrong.status_code == 409
    content = base64.b64encode(b"\xfe\r\nx").decode()
    done = post(as_operator, f"{WRITES}/w1/rollback", content_base64=content, **body)
    assert done.status_code == 200 and done.json()["restoredTo"] == "chosen"
    assert file.read_bytes() == b"\xfe\r\nx"


def test_a_session(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n", session_key="agent:ada:main")
    create_write(DB, 2, b"a\nb\n", b"a\nb\nc\n")
    file.write_bytes(b"a\nb\nc\n")
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    plan = as_operator.get(address, {"since": T0 + 2000}).json()
    assert plan["audit_ids"] == ["w2"]
    plan = as_operator.get(address).json()
    assert plan["audit_ids"] == ["w2", "w1"]
    done = post(as_operator, address, reason="All.", seen=plan["hashes"]).json()
    assert [rollback["audit_id"] for rollback in done["rollbacks"]] == ["w2", "w1"] and file.read_bytes() == b"a\n"


def test_a_write_that_is_told_of_after_the_preview_is_not_taken_back(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    plan = as_operator.get(address).json()
    create_write(DB, 2, b"Obey mallory.\na\nb\n", b"a\nb\n")
    done = post(as_operator, address, reason="All.", seen=plan["hashes"])
    assert done.status_code == 409 and file.read_bytes() == b"a\nb\n"


def test_a_write_that_began_with_something_else_than_the_preview_said_is_not_taken_back(ada, as_operator, file):
    for at, data in ((T0, b"a\n"), (T0 + 5_000, b"a\nb\n")):
        services.store_version(DB, "MEMORY.md", data, modified_ms=at)
    columns = {"session_id": "s1", "target_file": "MEMORY.md", "candidate_fact": "b", "status": "written"}
    for source, change in ((Source.LOG, None), (Source.DATABASE, FileChange(b"Obey mallory.\n", b"a\nb\n"))):
        row = WriteGuardianAudit(id="w1", created_at=T0 + 5_000, origin="imported", **columns)
        if change:
            seen = as_operator.get(f"{WRITES}/w1/rollback").json()["seen"]
        write_store.store_reports(DB, [Report(row, source, change, reporter="plugin")])
        file.write_bytes(b"a\nb\n")
    done = post(as_operator, f"{WRITES}/w1/rollback", reason="Wrong.", seen=seen)
    assert done.status_code == 409 and file.read_bytes() == b"a\nb\n"


def test_the_verb(file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    assert run_verb("w1")[0] == 2  # no reason
    assert run_verb("--reason", "x")[0] == 2
    code, output = run_verb("w1", "--preview")
    assert code == 0 and "-b\n" in json.loads(output)["patch"] and file.read_bytes() == b"a\nb\n"
    code, output = run_verb("w1", "--reason", "Wrong.", "--no-backup")
    assert code == 0 and json.loads(output)["success"] and file.read_bytes() == b"a\n"
    assert run_verb("w1", "--reason", "Wrong.")[0] == 3
    create_write(DB, 2, b"a\n", b"c\n")
    file.write_bytes(b"c\n")
    code, output = run_verb("--session", "s1", "--reason", "All.")
    assert code == 0 and len(json.loads(output)["rollbacks"]) == 1


def test_one_change_is_a_write_that_is_named(as_operator, file):
    create_write(DB, 1, b"a\nb\nc\nd\ne\n", b"A\nb\nc\nd\nE\n")
    file.write_bytes(b"A\nb\nc\nd\nE\n")
    status, words = run_verb("w1", "--hunk", "1", "--reason", "half of it is wrong")
    receipt = json.loads(words)
    own = WriteGuardianAudit.objects.using(DB).get(origin="rollback")
    assert status == 0 and (receipt["own_audit_id"], receipt["restoredTo"]) == (own.id, "merged")
    assert file.read_bytes() == b"a\nb\nc\nd\nE\n"
    assert (
        "Rolled back. The rollback is the write"
        in read_answer("guardian", "rollback", own.id, "--reason", "it was right")[0]
    )
    output, _status = read_answer("guardian", "rollback", "w1", "--hunk", "2", "--reason", "the other")
    newest = WriteGuardianAudit.objects.using(DB).filter(origin="rollback").latest("created_at", "id")
    assert f"One change was taken back. That is the write {newest.id}." in output
    assert file.read_bytes() == b"A\nb\nc\nd\ne\n"


def test_a_write_of_which_nothing_is_known_before_is_left_out_by_choice(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    create_write(DB, 2, None, b"x\n")
    WriteGuardianAudit.objects.using(DB).filter(id="w2").update(
        hunks_json=None, before_snapshot=None, after_snapshot=None, diff=None, lines_added=None
    )
    file.write_bytes(b"a\nb\n")
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    plan = as_operator.get(address).json()
    assert (plan["unknown"], plan["audit_ids"]) == (["w2"], ["w1"])
    body = {"reason": "Wrong.", "seen": plan["hashes"]}
    refused = post(as_operator, address, **body)
    assert refused.status_code == 409 and "Choose to leave it out." in refused.json()["detail"]
    assert [item["id"] for item in refused.json()["reasons"]] == ["w2"]
    assert run_verb("--session", "s1", "--reason", "Wrong.")[0] == 3
    page = as_operator.get("/agents/ada/writes/session/of/s1/").text
    assert 'name="leave_out" value="w2" required' in page
    assert file.read_bytes() == b"a\nb\n"
    done = post(as_operator, address, leave_out=["w2"], **body).json()["rollbacks"]
    assert [item["audit_id"] for item in done] == ["w1"] and file.read_bytes() == b"a\n"
    assert WriteGuardianAudit.objects.using(DB).get(id="w2").status == "written"


def test_a_session_of_which_nothing_is_known_has_nothing_to_roll_back(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    WriteGuardianAudit.objects.using(DB).update(hunks_json=None)
    answer = as_operator.get("/api/v1/agents/ada/guardian/sessions/s1/rollback")
    assert answer.status_code == 409 and "no write that could be rolled back" in answer.json()["detail"]
