"""Reports of decisions and failed calls for tests, and the stored sums of ada."""

from datetime import UTC, datetime, timedelta
from itertools import count

from gate.models import (
    GateCall,
    GateDay,
    GateHour,
    GateReceipt,
    GateSessionSums,
    GateStaleSum,
    GateWindow,
    MemoryGateDecision,
    MemoryGateStats,
)
from gate.recording import decision_store
from gate.recording.reports import Origin, Report, Source
from openclaw_web import clock

DB = "agent_ada"
DAY_MS = 86_400_000
PAGE = "/agents/ada/gate/statistics/"
SUMS = (GateHour, GateDay, GateSessionSums, MemoryGateStats, GateStaleSum)
numbers = count()


def midnight(days_ago=0):
    """Returns the first millisecond of a UTC day."""
    return clock.now_ms() // DAY_MS * DAY_MS - days_ago * DAY_MS


def day(days_ago=0):
    """Returns the same day as it stands in an address."""
    today = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).date()
    return str(today - timedelta(days=days_ago))


def make_report(decision="NO_WRITE", *, source=Source.API, **columns):
    """Returns a source's report of one decision."""
    given = {"id": f"d{next(numbers)}", "session_id": "s1", "reason": "Small talk.", "created_at": midnight()}
    given |= {"llm_model": "gate-1", "prompt_version": "p1", "saw_user": True} | columns
    if decision != "NO_WRITE":
        given.setdefault("candidate_fact", "Likes tea.")
    origin = {Source.API: Origin.RECORDED, Source.OWN: Origin.OWN}.get(source, Origin.IMPORTED)
    return Report(row=MemoryGateDecision(decision=decision, origin=origin, **given), source=source)


def make_failed_call(outcome="failed", **columns):
    """Returns a call that was no decision."""
    given = {"id": f"c{next(numbers)}", "session_id": "s1", "origin": "own", "created_at": midnight()}
    return GateCall(outcome=outcome, **given | {"llm_model": "gate-1", "prompt_version": "p1"} | columns)


def store_reports(*reports):
    return decision_store.store_reports(DB, list(reports))


def store_decisions(decision, amount, days_ago, **columns):
    """Stores some equal decisions of one day, a minute apart."""
    first = midnight(days_ago)
    store_reports(*(make_report(decision, created_at=first + n * 60_000, **columns) for n in range(amount)))


def read_sums():
    """Returns every row of every sum, without its time of update."""
    rows_by_table = {}
    for model in SUMS:
        names = sorted(field.column for field in model._meta.concrete_fields if field.column)
        names = [name for name in names if name != "updated_at"]
        rows_by_table[model._meta.db_table] = sorted(model.objects.using(DB).values_list(*names), key=str)
    return rows_by_table


def delete_all():
    """Deletes all decisions, calls and sums."""
    for model in (*SUMS, MemoryGateDecision, GateCall, GateReceipt, GateWindow):
        model.objects.using(DB).all().delete()
