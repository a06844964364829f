"""The doctor finds sums that were changed or lost, and a rebuild repairs them."""

import pytest
from django.db import connections

from gate.recording import decision_store
from gate.statistics import sums
from people.configuration import setting_values as configuration

from .statistics_rows import DB, make_failed_call, read_sums, store_decisions

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def decided():
    store_decisions("NO_WRITE", 3, 2, llm_latency_ms=80)
    store_decisions("UPDATE_USER", 2, 1, session_id="s2", llm_model=None, cost_usd=0.5)
    decision_store.store_calls(DB, [make_failed_call(session_id="s3")])
    assert [*sums.find_wrong(DB)] == []


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("DELETE FROM gate_hours WHERE total = 3", "gate_hours"),
        ("UPDATE gate_hours SET total = total + 1 WHERE total = 3", "gate_hours"),
        ("UPDATE gate_hours SET latency_json = '{\"80\": 1}' WHERE total = 3", "gate_hours"),
        ("UPDATE gate_hours SET latency_json = '{' WHERE total = 3", "gate_hours"),
        ("UPDATE gate_hours SET hour = hour + 3600000 WHERE total = 3", "gate_hours"),
        ("DELETE FROM gate_days WHERE total = 2", "gate_days"),
        ("UPDATE gate_days SET cost_nano_usd = 1 WHERE total = 2", "gate_days"),
        ("DELETE FROM gate_session_sums WHERE session_id = 's3'", "gate_session_sums"),
        ("UPDATE gate_session_sums SET first_at = 1 WHERE session_id = 's2'", "gate_session_sums"),
        ("UPDATE gate_session_sums SET session_id = 'x' WHERE session_id = 's2'", "gate_session_sums"),
        ("DELETE FROM memory_gate_stats WHERE total_decisions = 2", "memory_gate_stats"),
        ("UPDATE memory_gate_stats SET session_count = 7", "memory_gate_stats"),
        ("UPDATE memory_gate_stats SET avg_latency_ms = 7 WHERE total_decisions = 3", "memory_gate_stats"),
        ("DELETE FROM memory_gate_decisions WHERE decision = 'UPDATE_USER'", "gate_hours"),
        ("UPDATE memory_gate_decisions SET decision = 'UPDATE_SOUL', candidate_fact = 'x'", "memory_gate_stats"),
        ("DELETE FROM gate_calls", "gate_days"),
    ],
)
def test_each_change_is_seen_and_mended(sql, table):
    before = read_sums()
    with connections[DB].cursor() as cursor:
        cursor.execute(sql)
    assert table in {name.split()[0] for name in sums.find_wrong(DB)}
    sums.rebuild(DB)
    assert [*sums.find_wrong(DB)] == []
    if not any(name in sql for name in ("memory_gate_decisions", "gate_calls")):
        assert read_sums() == before


def test_sums_that_wait_to_be_computed_are_not_wrong():
    sums.reset(DB)
    assert [*sums.find_wrong(DB)] == []


def test_while_statistics_are_off_nothing_is_missing():
    configuration.put("memoryGateAuditing.enableStats", False)
    decision_store.store_calls(DB, [make_failed_call()])
    assert [*sums.find_wrong(DB)] == []
