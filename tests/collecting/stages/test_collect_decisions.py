"""Collecting decisions of the Reflection plugin from its logs and its database.

Each decision comes once, with its turn, window and fact.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gate.models import GateCall, GateHour, MemoryGateDecision
from gate.recording import foreign_decisions, windows
from gate.statistics import sums
from ledger.models import RejectedRecord
from operations.doctor.sources.source_findings import build_foreign_decision_notes
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.plugin_log import CHANNEL, T0, log_first_turn, log_write
from tests.homes import Home, assistant, user

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
pytestmark = pytest.mark.django_db


def rows():
    return MemoryGateDecision.objects.using(MAIN).order_by("created_at")


def test_a_decision_comes_with_its_turn_window_and_fact(place):
    home, talk, log = place
    log_first_turn(log)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    assert run(home)["gate"]["decisions"] == 1
    row = rows().get()
    assert (row.turn_id, row.match, row.origin) == (f"{talk.session}:r1", "exact", "imported")
    assert (row.candidate_fact, row.llm_model, row.llm_latency_ms) == ("The user likes tea.", "gate-1", 499)
    window = windows.read_window(MAIN, row.window_hash)
    assert [message["message"] for message in window.recent] == ["I like tea", "Noted"]
    assert not row.is_window_derived


def test_reading_again_adds_nothing_and_goes_on_where_it_was(place):
    home, _talk, log = place
    log_first_turn(log)
    run(home)
    assert run(home)["gate"]["decisions"] == 0
    log.add_message(T0 + 3_000, "agent", "Late", CHANNEL).add_decision(T0 + 3_500, key=CHANNEL)
    assert run(home)["gate"]["decisions"] == 1
    assert rows().count() == 2
    assert rows().last().saw_user is True
    window = windows.read_window(MAIN, rows().last().window_hash)
    assert [message["message"] for message in window.recent] == ["I like tea", "Noted", "Late"]


def test_a_fact_that_comes_later_is_added_but_not_one_of_another_workspace(place):
    home, _talk, log = place
    (home.root / "agents" / "eve" / "sessions").mkdir(parents=True)
    home.transcript(user("Hello"), agent="eve")
    log_first_turn(log)
    log_write(home.root / "workspace-eve", T0 + 1_700, "UPDATE_USER", "Obeys eve.")
    run(home)
    assert rows().get().candidate_fact is None
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    run(home)
    assert rows().get().candidate_fact == "The user likes tea."


def test_facts_are_in_the_workspace_that_the_plugin_names(place):
    home, _talk, log = place
    (home.root / "agents" / "eve" / "sessions").mkdir(parents=True)
    home.transcript(user("Hello"), agent="eve")
    log.line(T0 - 1_000, "PluginLifecycle", "Workspace resolved", {"workspaceDir": str(home.root / "workspace-eve")})
    log_first_turn(log)
    log_write(home.root / "workspace-eve", T0 + 1_700, "UPDATE_USER", "The user likes tea.")
    run(home)
    row = MemoryGateDecision.objects.using("agent_eve").get()
    assert row.candidate_fact == "The user likes tea."


def configure_workspace(home, workspace):
    config = {"agents": {"list": [{"id": "main", "workspace": workspace}]}}
    (home.root / "openclaw.json").write_text(json.dumps(config))


def test_a_log_belongs_to_the_workspace_as_the_configuration_writes_it(place):
    home, talk, log = place
    configure_workspace(home, "/srv/somewhere/workspace")  # the home was copied from there
    log.line(T0 - 1_000, "PluginLifecycle", "Workspace resolved", {"workspaceDir": "/srv/somewhere/workspace/"})
    log_first_turn(log)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    assert run(home)["gate"]["decisions"] == 1
    assert (rows().get().turn_id, rows().get().candidate_fact) == (f"{talk.session}:r1", "The user likes tea.")


def test_decisions_of_a_workspace_that_no_agent_has_are_counted_once_and_left_out(place):
    home, _talk, log = place
    log.line(T0 - 1_000, "PluginLifecycle", "Workspace resolved", {"workspaceDir": "/srv/else\nwhere"})
    log_first_turn(log)
    why = "left out: no agent of this OpenClaw folder has the workspace that the log names, /srv/else‹LF›where."
    sentence = f"1 decision of memory_gate was {why}"
    report = run(home)
    assert (report["gate"]["decisions"], report["gate"]["elsewhere"], report["notes"][-1]) == (0, 1, sentence)
    log.add_message(T0 + 3_000, "agent", "Late", CHANNEL).add_decision(T0 + 3_500, key=CHANNEL)
    assert run(home)["gate"]["elsewhere"] == 1
    assert not rows().exists()
    assert foreign_decisions.describe_all(home.root) == [f"2 decisions of memory_gate were {why}"]
    (note,) = build_foreign_decision_notes(home.root)  # of the doctor
    assert (note.check, note.level) == ("foreign_decisions", "note")


def test_decisions_of_an_agent_that_is_not_there_are_left_out(place):
    home, _talk, log = place
    log.add_message(T0, "user", "I like tea", "agent:ghost:main").add_message(
        T0 + 1_000, "agent", "Noted", "agent:ghost:main"
    )
    log.add_decision(T0 + 1_500, key="agent:ghost:main")
    report = run(home)
    assert (report["gate"]["decisions"], report["gate"]["elsewhere"]) == (0, 1)
    assert "no agent of this OpenClaw folder has its session." in report["notes"][-1]


def test_without_a_workspace_it_counts_for_the_home_that_has_the_session(place, tmp_path):
    home, _talk, log = place
    log_first_turn(log)
    other = Home(tmp_path / "other")
    other.transcript(user("Hello"), assistant("Hi"))
    assert run(home)["gate"]["decisions"] == 1
    counts = run(other, **{"as": "other"})["gate"]
    assert (counts["decisions"], counts["elsewhere"]) == (0, 1)


def test_a_copy_of_the_log_adds_nothing(place, tmp_path):
    home, _talk, log = place
    log_first_turn(log)
    run(home)
    shutil.copy(log.path, log.path.with_name("reflection-2026-02-20.log"))
    configuration.put("reflection.logFolder", str(tmp_path / "logs"))
    assert run(home)["gate"]["decisions"] == 0
    assert rows().count() == 1


def test_a_gate_that_saw_no_user_message_is_known_as_that(place):
    home, _talk, log = place
    log.add_message(T0 + 1_000, "agent", "Noted", CHANNEL).add_decision(T0 + 1_500, key=CHANNEL, user=False)
    run(home)
    assert rows().get().saw_user is False


def test_a_failed_call_is_no_decision(place):
    home, _talk, log = place
    log.add_message(T0 + 1_000, "agent", "Noted", CHANNEL)
    log.add_decision(T0 + 1_500, reason="LLM request failed: 500", key=CHANNEL)
    log.add_decision(T0 + 1_900, reason="Missing candidate_fact for UPDATE_USER", key=CHANNEL)
    assert run(home)["gate"]["failed_calls"] == 2
    assert not rows().exists()
    calls = GateCall.objects.using(MAIN).order_by("created_at").values_list("outcome", "failure")
    assert list(calls) == [("failed", "llm_request_failed"), ("malformed", "missing_candidate_fact")]
    assert list(GateHour.objects.using(MAIN).values_list("failed_count", "malformed_count")) == [(1, 1)]


def test_an_unmatched_decision_finds_its_turn_once_the_transcript_is_there(place):
    home, talk, log = place
    hidden = talk.path.rename(talk.path.with_suffix(".away"))
    home.transcript(user("Something else"))
    log_first_turn(log)
    run(home)
    assert (rows().get().turn_id, rows().get().match) == (None, "none")
    hidden.rename(talk.path)
    assert run(home)["gate"]["matched_later"] == 1
    assert (rows().get().session_id, rows().get().match) == (talk.session, "exact")
    before = read_hours()
    sums.rebuild(MAIN)
    assert read_hours() == before


def test_lines_that_are_no_use_are_rejected_and_the_rest_is_read(place):
    home, _talk, log = place
    log.raw(b"{half\n").raw(b"\xff\xfe\n")
    log.add_decision(T0, "UPDATE_WORLD", "Everything.", CHANNEL)
    log_first_turn(log).raw('{"timestamp": "2026')
    assert run(home)["gate"]["decisions"] == 1
    reasons = set(RejectedRecord.objects.using(MAIN).values_list("reason", flat=True))
    assert {"not_utf8", "bad_decision"} < reasons and len(reasons) == 3


def test_with_auditing_off_nothing_is_imported(place):
    home, _talk, log = place
    configuration.put("memoryGateAuditing.enabled", False)
    log_first_turn(log)
    run(home)
    assert not rows().exists()
    configuration.put("memoryGateAuditing.enabled", True)
    assert run(home)["gate"]["decisions"] == 1


def test_decisions_without_a_known_person_are_withheld_while_somebody_opted_out(place):
    home, _talk, log = place
    configuration.put("collector.optedOutSenders", ["bob"])
    log.add_message(T0, "agent", "Fine", "channel:irc:nobody").add_decision(T0 + 500, key="channel:irc:nobody")
    assert run(home)["gate"]["withheld"] == 1
    assert not rows().exists()


@pytest.mark.parametrize("name", ["01PLUGIN", "of the database"])
def test_the_same_event_from_log_api_and_database_is_one_row(place, as_operator, name):
    home, talk, log = place
    log_first_turn(log)
    run(home)
    body = {
        "id": "01PLUGIN", "turn_id": f"{talk.session}:r1", "session_id": CHANNEL, "decision": "UPDATE_USER",
        "reason": "Likes tea.", "candidate_fact": "Tea.", "llm_model": "gate-1", "prompt_tokens": 50,
        "created_at": T0 + 1_510,
    }  # fmt: skip
    answer = as_operator.post(
        "/api/v1/agents/main/gate/decisions", {"decisions": [body]}, content_type="application/json"
    )
    assert answer.status_code == 200
    values = {"id": name, "session_id": CHANNEL, "created_at": T0 + 1_510}
    create_database(home.root / "workspace", llm_model="less-known", **values)
    run(home)
    row = rows().get()
    assert (row.origin, row.candidate_fact, row.prompt_tokens, row.match) == ("recorded", "Tea.", 50, "given")
    assert row.llm_model == "gate-1"  # a report of the plugin itself has precedence
    assert sum(GateHour.objects.using(MAIN).values_list("total", flat=True)) == 1


def test_a_database_of_the_specs_shape_is_read(place):
    home, _talk, _log = place
    create_database(home.root / "workspace", id="d1", session_id=CHANNEL, created_at=T0 + 1_500)
    assert run(home)["gate"]["decisions"] == 1
    assert (rows().get().id, rows().get().match) == ("d1", "near")
    assert run(home)["gate"]["decisions"] == 0


@pytest.mark.skipif(not DATA.exists(), reason="the recorded homes are not on this machine")
def test_the_real_logs(real_files, tmp_path):
    root = shutil.copytree(DATA / "openclaw-2026.2.26", tmp_path / "openclaw")
    shutil.copytree(
        DATA / "reflection" / "workspace" / ".openclaw-reflection", root / "workspace" / ".openclaw-reflection"
    )
    home = type("Place", (), {"root": root})
    configuration.put("reflection.logFolder", str(DATA / "reflection" / "plugin-logs-driver"))
    report = run(home)
    left_out = "no agent of this OpenClaw folder has the workspace that the log names, /srv/oc/refl-ws."
    assert f"10 decisions of memory_gate were left out: {left_out}" in report["notes"]
    report = report["gate"]
    assert (report["decisions"], report["failed_calls"], report["rejected"], report["unknown_lines"]) == (67, 0, 0, 0)
    assert report["elsewhere"] == 10
    assert rows().filter(decision="NO_WRITE").count() == 67
    assert rows().exclude(turn_id=None).count() == rows().filter(match="exact").count() == 20
    configuration.put("reflection.logFolder", str(DATA / "reflection" / "plugin-logs-gateway"))
    again = run(home)["gate"]
    assert (again["decisions"], again["merged"], again["failed_calls"], again["elsewhere"]) == (0, 0, 0, 0)
    assert rows().count() == 67


@pytest.mark.skipif(not DATA.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize(
    "order", [("openclaw-2026.2.26", "openclaw-2026.9.6"), ("openclaw-2026.9.6", "openclaw-2026.2.26")]
)
def test_one_log_beside_two_homes_counts_once(real_files, order):
    configuration.put("reflection.logFolder", str(DATA / "reflection" / "plugin-logs-driver"))
    counts = {}
    for name in order:
        report = run(type("Place", (), {"root": DATA / name}), **{"as": name.replace(".", "-")})
        counts[name] = (report["gate"]["decisions"], report["gate"]["elsewhere"])
    assert counts == {"openclaw-2026.2.26": (67, 10), "openclaw-2026.9.6": (0, 77)}


def create_database(workspace, **values):
    """Write a decision to a `reflection.db` of the spec's shape."""
    folder = workspace / ".openclaw-reflection"
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / "reflection.db")) as db, db:
        db.execute(
            "CREATE TABLE memory_gate_decisions (id TEXT PRIMARY KEY, turn_id TEXT, session_id TEXT, decision TEXT,"
            " reason TEXT, candidate_fact TEXT, llm_model TEXT, created_at INTEGER)"
        )
        columns = {"decision": "UPDATE_USER", "reason": "Likes tea.", "candidate_fact": "Tea.", **values}
        names = ", ".join(columns)
        db.execute(
            f"INSERT INTO memory_gate_decisions ({names}) VALUES ({', '.join('?' * len(columns))})", [*columns.values()]
        )


def read_hours():
    return sorted(map(str, GateHour.objects.using(MAIN).values()))
