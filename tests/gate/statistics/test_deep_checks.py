"""Deep checks find sums that were changed or lost, and a rebuild repairs them."""

import pytest
from django.db import connections

from gate.recording import decision_store
from gate.statistics import deep_checks, sums
from gate.statistics.deep_checks import Difference
from people.configuration import setting_values as configuration

from .statistics_rows import DB, make_failed_call, read_sums, store_decisions

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def decided():
    store_decisions("NO_WRITE", 3, 2, llm_latency_ms=80)
    store_decisions("UPDATE_USER", 2, 1, session_id="s2", llm_model=None, cost_usd=0.5)
    decision_store.store_calls(DB, [make_failed_call(session_id="s3")])
    assert deep_checks.find_differences(DB) == []


@pytest.mark.parametrize(
    ("sql", "table", "kind"),
    [
        ("DELETE FROM gate_hours WHERE total = 3", "gate_hours", "missing"),
        ("UPDATE gate_hours SET total = total + 1 WHERE total = 3", "gate_hours", "different"),
        ("UPDATE gate_hours SET latency_json = '{\"80\": 1}' WHERE total = 3", "gate_hours", "different"),
        ("UPDATE gate_hours SET latency_json = '{' WHERE total = 3", "gate_hours", "different"),
        ("UPDATE gate_hours SET hour = hour + 3600000 WHERE total = 3", "gate_hours", "missing"),
        ("DELETE FROM gate_days WHERE total = 2", "gate_days", "missing"),
        ("UPDATE gate_days SET cost_nano_usd = 1 WHERE total = 2", "gate_days", "different"),
        ("DELETE FROM gate_session_sums WHERE session_id = 's3'", "gate_session_sums", "missing"),
        ("UPDATE gate_session_sums SET first_at = 1 WHERE session_id = 's2'", "gate_session_sums", "different"),
        ("UPDATE gate_session_sums SET session_id = 'x' WHERE session_id = 's2'", "gate_session_sums", "unexpected"),
        ("DELETE FROM memory_gate_stats WHERE total_decisions = 2", "memory_gate_stats", "missing"),
        ("UPDATE memory_gate_stats SET session_count = 7", "memory_gate_stats", "different"),
        ("UPDATE memory_gate_stats SET avg_latency_ms = 7 WHERE total_decisions = 3", "memory_gate_stats", "different"),
        ("DELETE FROM memory_gate_decisions WHERE decision = 'UPDATE_USER'", "gate_hours", "unexpected"),
        (
            "UPDATE memory_gate_decisions SET decision = 'UPDATE_SOUL', candidate_fact = 'x'",
            "memory_gate_stats",
            "different",
        ),
        ("DELETE FROM gate_calls", "gate_days", "unexpected"),
    ],
)
def test_each_change_is_seen_and_mended(sql, table, kind):
    before = read_sums()
    with connections[DB].cursor() as cursor:
        cursor.execute(sql)
    differences = deep_checks.find_differences(DB)
    assert (table, kind) in {(difference.table, difference.problem) for difference in differences}
    sums.rebuild(DB)
    assert deep_checks.find_differences(DB) == []
    if not any(name in sql for name in ("memory_gate_decisions", "gate_calls")):
        assert read_sums() == before


def test_sums_that_wait_to_be_made_are_told_so():
    sums.clear(DB)
    assert deep_checks.find_differences(DB) == [Difference("gate_sums_state", "sums", "not made")]


def test_while_statistics_are_off_nothing_is_missing():
    configuration.put("memoryGateAuditing.enableStats", False)
    decision_store.store_calls(DB, [make_failed_call()])
    assert deep_checks.find_differences(DB) == []


def test_a_thousand_differences_are_enough(monkeypatch):
    monkeypatch.setattr(deep_checks, "MOST", 2)
    with connections[DB].cursor() as cursor:
        cursor.execute("DELETE FROM gate_hours")
        cursor.execute("DELETE FROM gate_days")
    assert len(deep_checks.find_differences(DB)) == 2
