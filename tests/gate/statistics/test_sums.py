"""Sums that are updated with each decision equal those calculated from all decisions."""

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from gate.models import GateDay, GateHour, GateSessionSums, MemoryGateDecision, MemoryGateStats
from gate.recording import decision_store
from gate.recording.reports import Source
from gate.statistics import sums
from people.configuration import setting_values as configuration

from .statistics_rows import (
    DAY_MS,
    DB,
    delete_all,
    make_failed_call,
    make_report,
    midnight,
    read_sums,
    store_decisions,
    store_reports,
)

pytestmark = pytest.mark.django_db
SETTING = "memoryGateAuditing.enableStats"
T0 = 1_767_571_200_000  # 2026-01-05T00:00:00Z
DECISIONS = MemoryGateDecision.Decision.values
known = st.none() | st.integers(0, 2**53)
places = st.fixed_dictionaries(
    {
        "created_at": st.integers(0, 3 * 24).map(lambda n: T0 + n * 3_600_000 + n * n % 977),
        "session_id": st.sampled_from(["s1", "s2", "会话 3"]),
        "turn_id": st.sampled_from([None, "t1"]),
        "llm_model": st.sampled_from([None, "gate-1", "gate-2"]),
        "prompt_version": st.sampled_from([None, "p1", "p2"]),
        "cost_usd": st.none() | st.floats(0, 10_000),
    }
)
facts = st.fixed_dictionaries(
    {"llm_latency_ms": known, "prompt_tokens": known, "completion_tokens": known, "saw_user": st.none() | st.booleans()}
)
batches = st.lists(st.tuples(st.sampled_from(DECISIONS), places, facts), min_size=1, max_size=5)
steps = st.one_of(
    st.tuples(st.just("store"), batches),
    st.tuples(st.just("report_again"), st.integers(0, 9)),
    st.tuples(
        st.just("store_failures"), st.lists(st.tuples(st.sampled_from(["failed", "malformed"]), places), max_size=3)
    ),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("turn"), st.booleans()),
    st.tuples(st.just("make"), st.integers(0, 3)),
)


def report_again(number):
    """Reports a stored decision from another source, with more facts and another session."""
    rows = list(MemoryGateDecision.objects.using(DB).order_by("id"))
    if rows:
        row = rows[number % len(rows)]
        more = {"llm_model": "gate-3", "prompt_version": "p3", "llm_latency_ms": 77, "cost_usd": 0.25}
        more |= {"session_id": "elsewhere", "session_key": row.session_id, "candidate_fact": row.candidate_fact}
        more |= {"turn_id": row.turn_id}
        store_reports(
            make_report(row.decision, source=Source.LOG, reason=row.reason, created_at=row.created_at + 900, **more)
        )


def remove(number):
    """Removes a decision as retention does."""
    rows = list(MemoryGateDecision.objects.using(DB).order_by("id"))
    if rows:
        row = rows[number % len(rows)]
        place = (row.created_at, row.session_id)
        row.delete()
        sums.refresh(DB, [place])


def store_failures(calls):
    decision_store.store_calls(DB, [make_failed_call(outcome, **place) for outcome, place in calls])


DO = {
    "store": lambda batch: store_reports(*(make_report(decision, **place, **fact) for decision, place, fact in batch)),
    "report_again": report_again,
    "store_failures": store_failures,
    "remove": remove,
    "turn": lambda is_on: configuration.put(SETTING, is_on),
    "make": lambda count: [sums.run_step(DB) for _ in range(count)],
}


@given(st.lists(steps, max_size=12))
def test_whatever_is_written_the_sums_are_those_of_all_rows(done):
    delete_all()
    configuration.put(SETTING, True)
    for name, argument in done:
        DO[name](argument)
    configuration.put(SETTING, True)
    assert sums.ensure_complete(DB)
    assert [*sums.find_wrong(DB)] == []
    before = read_sums()
    sums.rebuild(DB)
    assert read_sums() == before


def test_sums_are_made_in_pieces_while_decisions_come_in(monkeypatch):
    monkeypatch.setattr(sums, "STEP", 4)
    for days_ago in range(6):
        store_decisions("UPDATE_USER", 3, days_ago, session_id=f"s{days_ago % 4}", llm_latency_ms=100 * days_ago)
    decision_store.store_calls(DB, [make_failed_call(created_at=midnight(3) + n, session_id="s9") for n in range(6)])
    sums.reset(DB)
    assert not sums.is_complete(DB)
    pieces = 0
    while sums.run_step(DB):
        pieces += 1
        if pieces < 12:  # before, within and after what is made already
            store_decisions("NO_WRITE", 1, pieces % 8, session_id=f"s{pieces % 11}")
    assert pieces > 8
    assert sums.is_complete(DB)
    assert [*sums.find_wrong(DB)] == []


def test_one_hour_that_is_larger_than_a_piece_is_made_at_once(monkeypatch):
    monkeypatch.setattr(sums, "STEP", 4)
    store_decisions("NO_WRITE", 11, 2)
    store_decisions("UPDATE_SOUL", 2, 1, session_id="s2")
    before = read_sums()
    sums.rebuild(DB)
    assert read_sums() == before


def test_a_session_is_counted_once_a_day():
    store_decisions("NO_WRITE", 3, 1, session_id="s1")
    store_decisions("NO_WRITE", 2, 1, session_id="s2")
    store_decisions("NO_WRITE", 2, 0, session_id="s1")
    session_counts = dict(MemoryGateStats.objects.using(DB).values_list("date", "session_count"))
    assert sorted(session_counts.values()) == [1, 2]


def test_absurd_numbers_fit():
    store_reports(*(make_report(llm_latency_ms=2**53, prompt_tokens=2**53, cost_usd=1e300) for _ in range(9)))
    row = GateDay.objects.using(DB).get()
    assert row.latency_sum_ms == row.prompt_tokens == row.cost_nano_usd == 9 * 10**12


def test_what_is_off_is_not_counted_and_made_when_it_is_on_again(monkeypatch):
    store_decisions("NO_WRITE", 2, 1)
    configuration.put(SETTING, False)
    decision_store.store_calls(DB, [make_failed_call()])
    assert not GateHour.objects.using(DB).exists()
    assert not sums.ensure_complete(DB)
    configuration.put(SETTING, True)
    decision_store.store_calls(DB, [make_failed_call("malformed")])
    assert sum(GateHour.objects.using(DB).values_list("total", flat=True)) == 2
    assert sum(GateSessionSums.objects.using(DB).values_list("failed_count", flat=True)) == 1


def test_a_file_from_before_there_were_sums_gets_them():
    store_decisions("NO_WRITE", 2, 1)
    with connections[DB].cursor() as cursor:
        for table in ("gate_hours", "gate_days", "gate_session_sums", "memory_gate_stats"):
            cursor.execute(f"DELETE FROM {table}")
    assert sums.ensure_complete(DB)
    assert GateDay.objects.using(DB).get().total == 2


def test_a_call_of_a_replay_counts_nowhere():
    decision_store.store_calls(DB, [make_failed_call(replay_id="r1"), make_failed_call("sent")])
    assert not any(read_sums().values())


def test_days_are_utc_days():
    store_reports(make_report(created_at=T0 - 1), make_report(created_at=T0))
    assert set(MemoryGateStats.objects.using(DB).values_list("date", flat=True)) == {"2026-01-04", "2026-01-05"}
    assert set(GateDay.objects.using(DB).values_list("day", flat=True)) == {T0 - DAY_MS, T0}


def test_a_write_of_many_rows_leaves_their_sums_to_the_next_reader(monkeypatch):
    store_decisions("NO_WRITE", 1, 3)
    monkeypatch.setattr(sums, "AT_ONCE", 3)
    store_decisions("UPDATE_USER", 4, 2)  # of a day without any before
    assert not sums.is_complete(DB)
    assert sums.ensure_complete(DB) and [*sums.find_wrong(DB)] == []
    assert sum(MemoryGateStats.objects.using(DB).values_list("total_decisions", flat=True)) == 5


def test_a_job_ends_while_decisions_come_in(monkeypatch):
    monkeypatch.setattr(sums, "AT_ONCE", 0)
    store_decisions("NO_WRITE", 3, 2)
    sums.reset(DB)

    class Progress:
        def update(self, *_args):
            store_decisions("NO_WRITE", 1, 2)

    sums.run({"agent": "ada"}, Progress())
    assert sums.ensure_complete(DB) and [*sums.find_wrong(DB)] == []
