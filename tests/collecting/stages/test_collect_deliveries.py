"""Deliveries of answers, and inputs that never ran, as a real gateway of OpenClaw 2026.9.6 wrote them.

docs/collectors.md says how the rows were recorded.
"""

import json
from pathlib import Path

import pytest

from agents.models import Agent
from datasets.models import DatasetSample
from datasets.services import make_samples
from ledger.models import ConversationTurn, Session
from tests.collecting.collect_runs import MAIN, run
from tests.homes import assistant, user
from tests.sqlite_homes import T0, SqliteHome

ROWS = Path(__file__).resolve().parents[2] / "data" / "deliveries" / "rows.jsonl"
OUTCOMES = ("message_tool_run_outcomes", "conversation_deliveries", "session_pending_inputs")
# Question, answer, state and delivery.
TURNS = [
    ("What is the plan?", "The plan is soup.", "", "delivered"),
    ("Please fail to send", "It could not be sent.", "private", "failed"),
    ("Be stranded", "A long private thought about bread", "private", "suppressed"),
    ("Send two parts", "First part.\n\nSecond part.", "", "delivered"),
    ("Tag it", "NO_REPLY", "silent", "failed"),
    ("What is two and two?", "Four.", "", "not_known"),
    ("Say spoken words", "Spoken words.", "", "not_known"),
    ("Give me a picture", "", "pictures", "not_known"),
    ("Ask a third party", "All sent.", "", "not_known"),
    ("Please be slow", "", "", "not_known"),
]
pytestmark = pytest.mark.django_db


@pytest.fixture
def recorded(tmp_path, real_files):
    """A home with the recorded sessions; the rows of their deliveries are not in it yet."""
    home = SqliteHome(tmp_path / "openclaw")
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    with home.writing() as store:
        for table in OUTCOMES:
            columns = next(row for row in rows if row["table"] == table).keys() - {"table"}
            store.execute(f"CREATE TABLE {table} ({', '.join(sorted(columns))})")
        store.execute("ALTER TABLE conversations DROP COLUMN peer_id")
        for row in rows:
            if (table := row.pop("table")) not in OUTCOMES:
                home.insert(store, table, **row)
    return home


def add_outcomes(home, *tables):
    """Add the recorded rows of these tables."""
    with home.writing() as store:
        for row in map(json.loads, ROWS.read_text().splitlines()):
            if (table := row.pop("table")) in tables:
                home.insert(store, table, **row)


def read_turns():
    columns = ("user_message_content", "agent_message_content", "answer_state", "delivery")
    turns = ConversationTurn.objects.using(MAIN).order_by("session_id", "turn_number").values_list(*columns)
    return [(question, answer[:34], state, delivery) for question, answer, state, delivery in turns]


def test_a_run_says_whether_its_answer_arrived(recorded, as_operator):
    add_outcomes(recorded, *OUTCOMES)
    result = run(recorded)
    assert read_turns() == TURNS
    assert "session_pending_inputs" not in json.dumps(result["notes"]) and "Waiting words" not in json.dumps(result)
    direct = Session.objects.using(MAIN).get(session_key="agent:main:main")
    address = f"/api/v1/agents/main/sessions/{direct.id}"
    assert as_operator.get(address).json()["metadata"]["pendingInputs"] == {"count": 1, "lastAt": 1795982571310}
    page = as_operator.get(direct.get_absolute_url()).content.decode()
    assert "OpenClaw accepted 1 message and has not run it." in page and "Waiting words" not in page
    group = Session.objects.using(MAIN).exclude(id=direct.id).get()
    assert "outcomes" not in as_operator.get(f"/api/v1/agents/main/sessions/{group.id}").json()["metadata"]
    assert "Private words" in as_operator.get(group.get_absolute_url()).content.decode()
    make_samples(Agent.objects.get(agent_id="main"), group.id, [1, 3], by="root")
    samples = DatasetSample.objects.order_by("turn_number").values_list("turn_number", "turn_traits")
    assert [("unreceived" in traits.split()) for _number, traits in samples] == [False, True]


def test_later_outcomes_change_their_turns_and_stay_when_openclaw_forgets_them(recorded):
    run(recorded)
    before = read_turns()
    assert before[2] == ("Be stranded", "A long private thought about bread", "", "not_known")
    add_outcomes(recorded, "message_tool_run_outcomes")
    run(recorded)
    assert read_turns() == TURNS
    with recorded.writing() as store:
        store.execute("DELETE FROM message_tool_run_outcomes")
        store.execute("UPDATE session_nodes SET updated_at = updated_at + 1")
    run(recorded)
    run(recorded, again=True)
    assert read_turns() == TURNS


def test_an_input_that_ran_is_not_waiting_any_more(recorded):
    add_outcomes(recorded, "session_pending_inputs")
    run(recorded)
    with recorded.writing() as store:
        store.execute("UPDATE session_pending_inputs SET consumed_event_id = 'r9'")
    run(recorded)
    assert "pendingInputs" not in Session.objects.using(MAIN).get(session_key="agent:main:main").metadata


def test_of_two_sessions_with_one_key_the_one_that_had_begun_has_the_outcome(tmp_path, real_files):
    home, key = SqliteHome(tmp_path / "openclaw"), "agent:main:telegram:group:-1"
    for session in ("one", "two"):
        home.session(session, user("Why?"), assistant("Because."), key=key)
    runs = [
        ("run-1", "mute", 1),
        ("run-2", "tool_delivered", 2_000),
        ("unknown", "mute", 3_000),
        ("run-3", "odd", 4_000),
    ]
    with home.writing() as store:
        store.execute("UPDATE session_windows SET created_at = created_at + 1000 WHERE session_id = 'two'")
        store.execute("CREATE TABLE message_tool_run_outcomes (session_key, run_id, outcome, occurred_at)")
        for run_id, outcome, after in runs:
            store.execute(
                "INSERT INTO message_tool_run_outcomes VALUES (?, ?, ?, ?)", (key, run_id, outcome, T0 + after)
            )
        store.execute("INSERT INTO message_tool_run_outcomes VALUES (NULL, 7, x'ff', 'never')")
    run(home)
    sessions = {session.id: session.index_entry.get("outcomes") for session in Session.objects.using(MAIN)}
    assert sessions == {"one": {"run-1": "suppressed"}, "two": {"run-2": "delivered"}}
