"""Incomplete gate decisions and wrong sums: the doctor reports each kind of damage."""

import re
import sqlite3
from contextlib import closing

import pytest

from tests.homes import Home, assistant, user
from tests.operations.backups.backup_homes import run_python
from tests.operations.doctor.doctor_homes import change, doctor, rows

pytestmark = pytest.mark.kill
# Ten decisions as a plugin reports them, one with a long response; a failed call with its response; a malformed call.
FILL = """
from agents.models import Agent
from gate.models import GateCall
from gate.recording import api_import, decision_store
from gate.schemas import DecisionIn
from ledger.models import ConversationTurn
turns = ConversationTurn.objects.using("agent_main").order_by("turn_number")
api_import.record_reports(Agent.objects.get(agent_id="main"), [DecisionIn(
    id=f"d{turn.turn_number}", turn_id=turn.id, session_id=turn.session_id, decision="UPDATE_USER", reason="Likes it.",
    candidate_fact="Likes tea.", llm_model=None or "gate-1", llm_latency_ms=turn.turn_number * 100, cost_usd=0.001,
    raw_response="x " * (50_000 if turn.turn_number == 3 else 9), created_at=turn.created_at + 5) for turn in turns])
decision_store.store_calls("agent_main", [GateCall(id="c1", session_id="s", origin="own", outcome="failed",
    cost_usd=0.1, raw_response="no " * 50_000, created_at=turns[0].created_at),
    GateCall(id="c2", session_id="s", origin="own",
    outcome="malformed", created_at=turns[0].created_at)])
"""
SUMS = ("gate_hours", "gate_days", "gate_session_sums", "memory_gate_stats")


@pytest.fixture
def home(tmp_path):
    source = Home(tmp_path / "home-source")
    script = source.transcript()
    for number in range(10):
        script.add(user(f"Question {number}"), assistant(f"Answer {number}"))
    doctor(tmp_path / "home", "--fix", status=0)
    run_python(tmp_path / "home", FILL)
    return tmp_path / "home"


def read_gate_findings(home, *words, status=1):
    """Return the findings about decisions, by check."""
    looked, _status = doctor(home, *words, status=status)
    return {finding["check"]: finding for finding in looked["store"] if finding["check"].startswith("gate_")}


def read_sums(home):
    """Return the rows of all sums, without their time of update."""
    rows_by_table = {}
    for table in SUMS:
        names = [name for (name,) in rows(home, f"SELECT name FROM pragma_table_info('{table}')", "main")]
        names = ", ".join(name for name in names if name != "updated_at")
        rows_by_table[table] = rows(home, f"SELECT {names} FROM {table} ORDER BY 1, 2, 3", "main")
    return rows_by_table


def test_nothing_is_said_of_what_is_whole(home):
    assert read_gate_findings(home, "--deep", status=0) == {}


def test_a_window_that_is_gone(home):
    change(home, "DELETE FROM gate_windows WHERE hash IN (SELECT window_hash FROM memory_gate_decisions"
                 " WHERE id BETWEEN 'd2' AND 'd6')", "main")  # fmt: skip
    finding = read_gate_findings(home)["gate_window_gone"]
    assert (
        "5 decisions of agent main name a window that is missing: d2, d3, d4, 2 more." in finding["sentence"]
        and not finding["is_repairable"]
    )


@pytest.mark.parametrize("how", ["other", "none"])
def test_a_window_that_is_not_what_its_hash_says(home, how):
    (name,) = rows(home, "SELECT hash FROM gate_windows ORDER BY hash LIMIT 1", "main")[0]
    body = "x'00'" if how == "none" else "(SELECT body_zstd FROM gate_windows ORDER BY hash DESC LIMIT 1)"
    change(home, f"UPDATE gate_windows SET body_zstd = {body} WHERE hash = '{name}'", "main")
    assert read_gate_findings(home, status=0) == {}
    assert name in read_gate_findings(home, "--deep")["gate_window_damaged"]["sentence"]


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE gate_hours SET total = total + 1",
        "UPDATE gate_hours SET cost_nano_usd = cost_nano_usd + 1000",
        "UPDATE gate_hours SET latency_json = '{}'",
        "UPDATE gate_hours SET failed_count = 0",
        "UPDATE gate_session_sums SET last_at = last_at + 1",
        "DELETE FROM gate_session_sums",
        "UPDATE memory_gate_stats SET update_user_count = 3",
        "INSERT INTO memory_gate_stats (date, total_decisions) VALUES ('2020-01-01', 1)",
        "UPDATE memory_gate_decisions SET decision = 'UPDATE_SOUL' WHERE id = 'd5'",
    ],
)
def test_sums_that_are_wrong_are_found_and_made_again(home, how):
    before = read_sums(home)
    change(home, how, "main")
    assert read_gate_findings(home)["gate_sums"]["is_repairable"]
    fixed, _status = doctor(home, "--fix", status=0)
    (done,) = [repair for repair in fixed["run"]["repairs"] if repair["check"] == "gate_sums"]
    assert done["is_done"] and re.fullmatch(r"Repaired in agent main: [1-9] totals?\.", done["sentence"])
    assert read_gate_findings(home, status=0) == {}
    assert (read_sums(home) == before) == ("memory_gate_decisions" not in how)


def test_sums_that_are_off_are_not_missed(home):
    run_python(
        home,
        "from people.configuration import setting_values as configuration\n"
        "configuration.put('memoryGateAuditing.enableStats', False)\n"
        "from gate.statistics import sums\nsums.reset('agent_main')",
    )
    assert read_gate_findings(home, status=0) == {}


def test_a_decision_that_is_gone_is_told_by_its_receipt_and_can_be_recorded_again(home):
    change(home, "DELETE FROM memory_gate_decisions WHERE id = 'd6'", "main")
    findings = read_gate_findings(home)
    assert findings["gate_receipts"]["sentence"] == "1 receipt of agent main names a decision that is missing: d6."
    assert doctor(home, "--fix", status=0)[0]["run"]["repairs"]
    assert read_gate_findings(home, status=0) == {}
    run_python(home, FILL)
    assert rows(home, "SELECT count(*) FROM memory_gate_decisions", "main") == [(10,)]
    assert read_gate_findings(home, "--deep", status=0) == {}


def test_responses_that_are_gone(home):
    change(home, "DELETE FROM artifacts WHERE kind = 'gate_response'", "main")
    assert (
        "2 decisions or calls of agent main name an artifact" in read_gate_findings(home)["gate_responses"]["sentence"]
    )
    assert "d3, c1" in read_gate_findings(home)["gate_responses"]["sentence"]


def test_a_content_of_a_response_that_is_gone(home):
    for blob in (home / "artifacts" / "blobs").rglob("*.*"):
        blob.unlink()
    looked, _status = doctor(home, status=1)
    assert [finding["check"] for finding in looked["store"]] == ["artifact_gone"]


def test_values_of_the_wrong_type(home):
    change(home, "UPDATE memory_gate_decisions SET created_at = 'abc' WHERE id = 'd4'", "main")
    change(home, "UPDATE memory_gate_decisions SET reason = x'ff00fe' WHERE id = 'd5'", "main")
    sentence = read_gate_findings(home)["gate_types"]["sentence"]
    assert sentence.startswith("2 rows of agent main contain values of the wrong type: memory_gate_decisions d4, ")


@pytest.mark.parametrize(
    "how",
    [
        "transcript_events SET created_at = 'soon' WHERE seq = 3",
        "transcript_events SET event_json = x'00' WHERE seq = 3",
        "transcript_events SET event_id = x'00' WHERE seq = 3",
        "sessions SET last_activity_at = 'soon'",
    ],
)
def test_values_of_the_wrong_type_in_records_stop_no_look(home, how):
    change(home, f"UPDATE {how}", "main")
    for words in ((), ("--deep",)):
        looked, _status = doctor(home, *words, status=1)
        sentences = {finding["check"]: finding["sentence"] for finding in looked["store"]}
        start = f"1 row of agent main contains a value of the wrong type: {how.partition(' ')[0]} "
        assert sentences["ledger_types"].startswith(start)


def test_a_value_of_the_wrong_type_in_the_global_database(home):
    change(home, "UPDATE agent_summaries SET last_collected_at = 'soon'")
    sentences = {finding["check"]: finding["sentence"] for finding in doctor(home, "--deep", status=1)[0]["store"]}
    assert sentences["global_types"].startswith("1 row of this site contains a value of the wrong type: agent_su")


def test_turns_that_are_gone_while_their_session_is_here(home):
    with closing(sqlite3.connect(home / "agents/main/agent/openclaw-agent.sqlite")) as db, db:
        db.execute("UPDATE memory_gate_decisions SET turn_id = turn_id || 'x' WHERE id = 'd7'")
    finding = read_gate_findings(home, status=0)["gate_turns"]
    assert finding["level"] == "note" and "names a turn that is missing: d7 (" in finding["sentence"]
