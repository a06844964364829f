"""Verbs of `openclaw-web episodes` that redact, remove and verify, and the agents that have a ledger."""

import hashlib
import json

import pytest

from agents import services as agents
from tests.episodes.commands.command_line import DAY, append, ask, at, fail, names, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_files")]


def test_redaction_is_previewed_counted_once_and_stays_in_its_scope():
    append("e1", "keep flour", "--payload-json", '"flour"', "--refs-json", '"flour"')
    append("e2", "keep flour", session="s2")
    words = ("redact", "--event-id", "e1")
    assert fail(*words)[0] == 2
    assert ask(*words, "--scope", "beta")["redacted_count"] == 0
    preview = ask(*words, "--scope", "alpha", "--dry-run")
    assert (preview["redacted_count"], preview["dry_run"]) == (1, True)
    assert ask("search", "flour", "--scope", "alpha")["result"]["count"] == 2
    receipt = ask(*words, "--scope", "alpha")
    assert receipt["target"] == {"event_id": "e1", "session_id": None, "scope": "alpha"}
    assert (receipt["redacted_count"], receipt["replacement"]) == (1, "placeholder")
    assert ask(*words, "--scope", "alpha")["redacted_count"] == 0
    item = ask("query", "--scope", "alpha", "--include-payload")["items"][0]
    assert (item["summary"], item["refs"], item["payload"], item["redacted"]) == (
        "[REDACTED]",
        None,
        "[REDACTED]",
        True,
    )
    assert ask("search", "flour", "--scope", "alpha")["result"]["count"] == 1
    assert ask("redact", "--session-id", "s2", "--scope", "alpha", "--replacement", "null")["redacted_count"] == 1
    assert fail("redact", "--event-id", "e1", "--session-id", "s", "--scope", "alpha")[0] == 2


def test_retention_is_previewed_and_counts_by_type():
    append("call", "done", *at(40), "--allow-tool-output", event_type="tool.call")
    append("alert", "done", *at(40), event_type="ops.alert")
    append("other", "done", *at(400), event_type="ops.alert", scope="beta")
    words = ("gc", "--scope", "alpha", "--now-ts-ms", str(DAY))
    preview = ask(*words, "--dry-run")
    assert (preview["deleted_total"], preview["dry_run"]) == (1, True)
    assert ask("query", "--scope", "alpha")["count"] == 2
    receipt = ask(*words, "--policy", "ops.alert=39", "--policy", "tool.call=forever")
    assert (receipt["deleted_by_type"]["ops.alert"], receipt["deleted_total"]) == (1, 1)
    assert receipt["policy_days"]["tool.call"] is None
    assert "call" not in json.dumps(receipt["deleted_by_type"]).replace("tool.call", "")
    assert names(ask("query", "--scope", "beta")) == ["other"]


@pytest.mark.parametrize("entry", ["ops.alert=0", "ops.alert=-1", "ops.alert=x", "ops.alert", "x=9"])
def test_a_retention_that_makes_no_sense_is_refused(entry):
    assert fail("gc", "--global", "--policy", entry)[0] == 2
    assert fail("policy", "--global", "--set", entry)[0] == 2


def test_the_policy_of_a_scope():
    status, out, _err = run("policy", "--scope", "alpha", "--set", "ops.alert=7", "--set", "ops.decision=400")
    assert status == 0
    assert out.splitlines()[2:4] == ["ops.alert=7", "ops.decision=400"]
    assert ask("policy", "--scope", "alpha")["policy_days"]["ops.alert"] == 7
    assert ask("gc", "--scope", "alpha")["policy_days"]["ops.decision"] == 400
    assert ask("policy", "--scope", "beta")["policy_days"]["ops.decision"] is None


def test_a_head_is_printed_and_written_and_compared(tmp_path):
    append("e1")
    file = tmp_path / "kept.head"
    status, printed, _err = run("head")
    assert (status, ask("head", "--output", str(file))["output"]) == (0, str(file))
    assert file.read_text() == printed
    append("e2")
    receipt = ask("verify", "--head", printed.strip(), "--head-file", str(file))
    assert (receipt["unchanged"], receipt["events"]) == (True, 2)
    assert receipt["heads"][1]["name"] == str(file)
    assert run("verify", "--head", printed.strip())[1].startswith("Unchanged since")
    ask("head", "--output", str(file))
    assert file.read_text() != printed
    assert [path.name for path in tmp_path.glob("*.head")] + list(tmp_path.glob(".head*")) == ["kept.head"]


def test_a_file_that_holds_no_head_is_not_replaced(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("1:2")
    assert fail("head", "--output", str(file))[0] == 2
    assert fail("head", "--output", str(tmp_path))[0] == 2
    assert fail("head", "--output", str(tmp_path / "missing" / "x.head"))[0] == 1
    assert file.read_text() == "1:2"
    assert fail("verify", "--head-file", str(file))[0] == 2
    assert fail("verify", "--head-file", str(tmp_path / "missing"))[0] == 2
    assert fail("verify", "--head", "x")[0] == 2


def test_a_ledger_that_is_another_one_is_reported_with_status_1(tmp_path):
    append("e1")
    other = f"1:{hashlib.sha256(b'other').hexdigest()}"
    status, out, err = run("verify", "--head", other)
    assert status == 1
    assert "The ledger is another one than when this head was given out." in out
    assert "no kept head was compared" not in out + err
    status, out, _err = run("verify", "--head", other, "--json")
    receipt = json.loads(out)
    assert (status, receipt["ok"], receipt["unchanged"]) == (1, False, False)
    assert receipt["error"] == receipt["message"]


def test_an_agent_has_a_ledger_of_its_own():
    append("e1", "done", "--agent", "Ada")
    assert ask("query", "--scope", "alpha")["count"] == 0
    assert names(ask("query", "--scope", "alpha", "--agent", "ada")) == ["e1"]
    statuses = [fail("query", "--global", "--agent", name)[0] for name in ("bob", "…")]
    assert statuses == [1, 2]
    assert {agent.agent_id for agent in agents.Agent.objects.all()} == {"ada", "main"}


def test_a_file_with_another_head_is_evidence_and_is_not_replaced(tmp_path):
    append("e1")
    file = tmp_path / "kept.head"
    other = f"9:{hashlib.sha256(b'other').hexdigest()}\n"
    file.write_text(other)
    status, error = fail("head", "--output", str(file))[:2]
    assert status == 1 and "does not have the head" in str(error)
    assert file.read_text() == other
    file.unlink()
    first = ask("head", "--output", str(file))["head"]
    append("e2")
    assert ask("head", "--output", str(file))["head"] != first
