"""The example queries of the Reflection spec, run with plain sqlite3, and what its table promises."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import IntegrityError, connections, transaction

from agents import databases, services
from gate.models import MemoryGateDecision
from gate.recording import api_import
from gate.schemas import DecisionIn
from tests import factories
from tests.factories import T0

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
pytestmark = pytest.mark.django_db
COLUMNS = {
    *("id", "turn_id", "session_id", "decision", "reason", "candidate_fact", "llm_model", "llm_latency_ms"),
    *("prompt_tokens", "completion_tokens", "raw_response", "created_at"),
}
STATS = {
    *("date", "session_count", "total_decisions", "no_write_count", "update_memory_count", "update_user_count"),
    *("update_soul_count", "update_identity_count", "update_tools_count", "avg_latency_ms", "updated_at"),
}


@pytest.fixture
def file(real_files):
    """The file of an agent with twelve decisions, on as many turns."""
    agent = services.register("main")
    session = factories.SessionFactory(db=agent.db, id="s1")
    for n in range(12):
        factories.TurnFactory(
            db=agent.db, id=f"s1:u{n}", session=session, turn_number=n, first_seq=n, last_seq=n,
            user_message_content=f"Question {n}", agent_message_content="Fine", created_at=T0 + n,
        )  # fmt: skip
    api_import.record_reports(agent, [decision(n) for n in range(12)])
    connections[agent.db].close()
    return databases.get_path("main")


def decision(n):
    return DecisionIn(
        id=f"d{n}", turn_id=f"s1:u{n}", session_id="s1", decision="UPDATE_USER" if n % 2 else "NO_WRITE", reason="So.",
        candidate_fact="A preference for tea" if n % 2 else None, llm_model="m", llm_latency_ms=100 + n,
        created_at=T0 + n,
    )  # fmt: skip


def queries():
    """The three queries under “examples of queries” of REQ-002."""
    text = next(SEEDS.glob("002_*.txt")).read_text("utf-8")
    part = text[text.index("REQ-002: memory_gate") : text.index("REQ-003: write_guardian")]
    part = part[part.rindex("查询示例") :].partition("\n")[2]
    return [query.strip() for query in part.split(";") if "SELECT" in query]


@pytest.mark.skipif(not SEEDS.exists(), reason="the specs are not on this machine")
def test_the_examples_run_as_they_stand(file):
    of_session, by_decision, by_word = queries()
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute(of_session, ["s1"]).fetchall()
        assert [row[0] for row in rows] == [f"d{n}" for n in range(11, 1, -1)]
        assert rows[0][1:] == ("UPDATE_USER", "So.", "A preference for tea", 111, "Question 11", "Fine", T0 + 11)
        assert sorted(db.execute(by_decision, [T0 + 1])) == [("NO_WRITE", 5, 106.0), ("UPDATE_USER", 5, 107.0)]
        assert len(db.execute(by_word).fetchall()) == 6


def test_the_tables_have_the_columns_of_the_spec(file):
    with closing(sqlite3.connect(file)) as db:
        for table, columns in (("memory_gate_decisions", COLUMNS), ("memory_gate_stats", STATS)):
            assert columns <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        assert db.execute(
            "SELECT total_decisions, session_count, avg_latency_ms FROM memory_gate_stats"
        ).fetchall() == [(12, 1, 106)]


@pytest.mark.parametrize(
    "values",
    [{"decision": "UPDATE_EVERYTHING"}, {"candidate_fact": None}, {"candidate_fact": ""}, {"reason": None}],
)
def test_the_file_itself_refuses_what_cannot_be(ada, values):
    columns = {"id": "x", "session_id": "s", "decision": "UPDATE_USER", "reason": "So.", "candidate_fact": "Tea."}
    with pytest.raises(IntegrityError), transaction.atomic(using="agent_ada"):
        MemoryGateDecision.objects.using("agent_ada").create(**columns | {"created_at": T0} | values)


def test_an_imported_decision_may_lack_its_fact(ada):
    MemoryGateDecision.objects.using("agent_ada").create(
        id="x", session_id="s", decision="UPDATE_USER", reason="So.", origin="imported", created_at=T0
    )
