"""`openclaw-web reflection gate`, as people in a terminal and programs use it."""

from functools import partial

import orjson
import pytest

from gate.models import MemoryGateDecision
from people.configuration import setting_values as configuration
from tests import factories
from tests.factories import T0
from tests.suite import commands

pytestmark = pytest.mark.django_db
gate = partial(commands.read_answer, "gate")


@pytest.fixture
def decisions(ada):
    """Three decisions of one session, a minute apart, and one of another."""
    factories.SessionFactory(id="s1", session_key="agent:ada:irc:x")
    for n in range(3):
        factories.DecisionFactory(id=f"d{n}", session_id="s1", created_at=T0 + n * 60_000)
    factories.DecisionFactory(
        id="other", session_id="s2", decision="NO_WRITE", candidate_fact=None, created_at=T0 + 86_400_000
    )


def test_a_list_in_words_has_reason_fact_and_window(decisions):
    out, _status = gate("list", "-l", "2", "-c")
    assert "UPDATE_USER" in out and "A stable preference." in out and "→ prefers mornings" in out
    assert "What the gate saw is not known." in out


def test_one_decision_is_shown(decisions):
    out, _status = gate("show", "d1")
    assert "session: s1" in out and "cost: –" in out
    assert orjson.loads(gate("show", "d1", "--json")[0])["decision"]["candidate_fact"] == "prefers mornings"
    out, status = gate("show", "nothing")
    assert status == 3 and "has no decision nothing" in out


def test_a_column_with_a_label_is_told(decisions, as_admin, monkeypatch):
    monkeypatch.setattr(MemoryGateDecision._meta.get_field("window_hash"), "label", "Seen as")
    MemoryGateDecision.objects.using("agent_ada").filter(id="d1").update(window_hash="feed")
    assert "\n  seen as: feed" in gate("show", "d1")[0] and "seen as" not in gate("show", "d0")[0]
    page = as_admin.get(MemoryGateDecision.objects.using("agent_ada").get(id="d1").get_absolute_url()).content.decode()
    assert "<dt>Seen as</dt><dd>feed</dd>" in page


@pytest.mark.parametrize(("option", "keys"), [("--weekly", 1), ("--by-session", 2), ("--by-model", 1), ("--daily", 2)])
def test_statistics_are_told_by_what_is_asked(decisions, option, keys):
    days = ["--since", "2026-01-05", "--until", "2026-01-06"]
    rows = orjson.loads(gate("stats", option, *days, "--json")[0])["rows"]
    assert (len([row for row in rows if row["total"]]), sum(row["total"] for row in rows)) == (keys, 4)
    out, status = gate("stats", option, *days)
    assert status == 0 and "NO_WRITE" in out


def test_statistics_that_are_off_are_told(decisions):
    configuration.put("memoryGateAuditing.enableStats", False)
    out, status = gate("stats")
    assert status == 3 and "turned off" in out


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_a_file_has_window_and_response_when_asked(decisions, tmp_path, kind):
    file = tmp_path / "file"
    MemoryGateDecision.objects.using("agent_ada").filter(id="d0").update(raw_response='{"decision": "NO_WRITE"}')
    assert gate("export", "--format", kind, "--with-context", "--with-response", "-o", str(file))[1] == 0
    rows = {row["id"]: row for row in commands.parse_rows(file.read_text("utf-8"), kind)}
    assert rows["d0"]["raw_response"].lstrip("'") == '{"decision": "NO_WRITE"}' and not rows["d1"]["raw_response"]
    decision = orjson.loads(gate("show", "d0", "--with-context", "--json")[0])["decision"]
    context = rows["d0"]["context"]
    assert (orjson.loads(context) if kind == "csv" and context else context or None) == decision["context"]
    assert rows["d0"]["context_state"] == decision["context_state"]
    gate("export", "--format", kind, "-o", str(file))
    assert "raw_response" not in file.read_text("utf-8") and "context" not in file.read_text("utf-8")
