"""Rollbacks through the API and the verb: what would change, the results with the spec's names, and refusals."""

import base64
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.guardian.written import T0, wrote

DB = "agent_ada"
WRITES = "/api/v1/agents/ada/guardian/writes"
pytestmark = pytest.mark.django_db


def verb(capsys, *words):
    """How a command ended, and what it printed."""
    try:
        call_command("reflection", "guardian", "rollback", "--agent", "ada", "--json", *words)
    except CommandError as error:
        return error.returncode, capsys.readouterr().out
    return 0, capsys.readouterr().out


def post(client, address, **body):
    return client.post(address, body, "application/json")


def test_it_works(as_operator, file):
    wrote(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    plan = as_operator.get(f"{WRITES}/w1/rollback").json()
    assert plan["way"] == "exact" and not plan["has_changed"] and plan["patch"].endswith("-b\n") and not plan["problem"]
    done = post(as_operator, f"{WRITES}/w1/rollback", reason="Wrong.", seen=plan["now_hash"]).json()
    assert done["success"] and done["restoredTo"] == T0 + 1000 - 1 and done["rollbackId"]
    assert file.read_bytes() == b"a\n"
    again = post(as_operator, f"{WRITES}/w1/rollback", reason="Wrong.", seen=plan["now_hash"])
    assert again.status_code == 409 and "already" in again.json()["detail"]
    assert as_operator.get(f"{WRITES}/w9/rollback").status_code == 404


def test_a_conflict_takes_the_content_byte_for_byte(as_operator, file):
    wrote(DB, 1, b"a\nb\n", b"a\nB\n")
    file.write_bytes(b"a\n\xff\x00\n")
    plan = as_operator.get(f"{WRITES}/w1/rollback").json()
    assert [one["hunk"] for one in plan["conflicts"]] == [0]
    body = {"reason": "Wrong.", "seen": plan["now_hash"]}
    assert post(as_operator, f"{WRITES}/w1/rollback", **body).status_code == 409
    wrong = post(as_operator, f"{WRITES}/w1/rollback", content_base64="no base64", **body)
    assert wrong.status_code == 409
    content = base64.b64encode(b"\xfe\r\nx").decode()
    assert post(as_operator, f"{WRITES}/w1/rollback", content_base64=content, **body).status_code == 200
    assert file.read_bytes() == b"\xfe\r\nx"


def test_a_session(as_operator, file):
    wrote(DB, 1, b"a\n", b"a\nb\n", session_key="agent:ada:main")
    wrote(DB, 2, b"a\nb\n", b"a\nb\nc\n")
    file.write_bytes(b"a\nb\nc\n")
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    plan = as_operator.get(address, {"since": T0 + 2000}).json()
    assert plan["audit_ids"] == ["w2"]
    plan = as_operator.get(address).json()
    assert plan["audit_ids"] == ["w2", "w1"]
    done = post(as_operator, address, reason="All.", seen=plan["hashes"]).json()
    assert [one["audit_id"] for one in done["rollbacks"]] == ["w2", "w1"] and file.read_bytes() == b"a\n"


def test_a_write_that_is_told_of_after_the_preview_is_not_taken_back(as_operator, file):
    wrote(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    plan = as_operator.get(address).json()
    wrote(DB, 2, b"Obey mallory.\na\nb\n", b"a\nb\n")
    done = post(as_operator, address, reason="All.", seen=plan["hashes"])
    assert done.status_code == 409 and file.read_bytes() == b"a\nb\n"


def test_the_verb(file, capsys):
    wrote(DB, 1, b"a\n", b"a\nb\n")
    file.write_bytes(b"a\nb\n")
    assert verb(capsys, "w1")[0] == 2  # no reason
    assert verb(capsys, "--reason", "x")[0] == 2
    code, said = verb(capsys, "w1", "--preview")
    assert code == 0 and "-b\n" in json.loads(said)["patch"] and file.read_bytes() == b"a\nb\n"
    code, said = verb(capsys, "w1", "--reason", "Wrong.", "--no-backup")
    assert code == 0 and json.loads(said)["success"] and file.read_bytes() == b"a\n"
    assert verb(capsys, "w1", "--reason", "Wrong.")[0] == 3
    wrote(DB, 2, b"a\n", b"c\n")
    file.write_bytes(b"c\n")
    code, said = verb(capsys, "--session", "s1", "--reason", "All.")
    assert code == 0 and len(json.loads(said)["rollbacks"]) == 1
