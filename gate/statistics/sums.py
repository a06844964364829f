"""Keeps the sums of decisions, which change with each decision, or are rebuilt.

Both ways give the same result. With `memoryGateAuditing.enableStats` off there are no sums; the first write or page
after it is on again builds them, or starts a job when there are many decisions.
"""

from django.db import transaction
from django.db.models import QuerySet

from jobs import services as jobs
from jobs.kinds import BY_SCHEDULE
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import setting_values as configuration

from ..models import GateCall, MemoryGateDecision
from . import sum_rebuild, sum_tables
from .sum_changes import FAILED_OUTCOMES, SumChanges
from .sum_rebuild import reset_sums

__all__ = [
    "JOB_KIND",
    "SumChanges",
    "apply_changes",
    "clear",
    "ensure_complete",
    "find_job",
    "is_complete",
    "is_on",
    "rebuild",
    "reset_sums",
]

SETTING = "memoryGateAuditing.enableStats"
JOB_KIND = "gate_statistics"
RETRY_MS = 10 * 60_000  # milliseconds before a failed job is started again


def is_on() -> bool:
    """Return whether sums are kept."""
    return configuration.is_on(SETTING)


def apply_changes(db: str, changes: SumChanges) -> None:
    """Apply changes to the sums, in the caller's transaction.

    The decisions and calls must be written before.
    """
    if not is_on():
        reset_sums(db)
        return
    state = sum_tables.read_state(db)
    if state is None and _is_missing(db, changes):
        state = reset_sums(db)
    if state is None:
        _add_changes(db, changes)
        return
    _add_changes(db, changes.until(*state))
    _build_soon(db)


def ensure_complete(db: str) -> bool:
    """Return whether the sums are complete, after building those of few decisions.

    The sums of many decisions are built by a job.
    """
    if not is_on():
        return False
    if sum_tables.read_state(db) is None and not _is_missing(db):
        return True
    with transaction.atomic(using=db):
        if sum_tables.read_state(db) is None and _is_missing(db):  # no other process began meanwhile
            reset_sums(db)
        _build_soon(db)
    return is_complete(db)


def is_complete(db: str) -> bool:
    """Return whether all sums are built."""
    return sum_tables.read_state(db) is None


def rebuild(db: str) -> None:
    """Rebuild all sums now. Decisions may be stored meanwhile."""
    with transaction.atomic(using=db):
        reset_sums(db)
    while sum_rebuild.run_step(db):
        pass


def clear(db: str) -> None:
    """Remove all sums; they are rebuilt on demand."""
    with transaction.atomic(using=db):
        reset_sums(db)


def find_job(db: str) -> JobRun | None:
    """Return the newest job that builds these sums, or None."""
    return _find_jobs(db).order_by("-created_at", "-id").first()


def _add_changes(db, changes):
    sum_tables.store_changes(db, changes)
    sessions = sum_tables.count_new_sessions(db, changes)
    sum_tables.store_daily_stats(db, {day for day, _session in changes.visits}, sessions, is_less=changes.is_less)


def _is_missing(db, changes=None):
    """Return whether there are decisions or failed calls without any sums.

    The sums must then be rebuilt.
    """
    if not sum_tables.is_empty(db):
        return False
    new = changes.hours.values() if changes else ()
    decisions, calls = max(0, sum(row_sum.total for row_sum in new)), max(0, sum(row_sum.failed for row_sum in new))
    if sum_tables.count_up_to(db, MemoryGateDecision, decisions + 1) > decisions:
        return True
    failed = GateCall.objects.using(db).filter(outcome__in=FAILED_OUTCOMES, replay_id=None)
    return failed.values("pk")[: calls + 1].count() > calls


def _build_soon(db):
    if sum_rebuild.is_small(db):
        while sum_rebuild.run_step(db):
            pass
    else:
        transaction.on_commit(lambda: _start_job(db), using=db)


def _start_job(db):
    last = find_job(db)
    if last and last.has_ended and last.state != JobRun.State.FINISHED:
        is_due = not clock.is_recent(last.finished_at or 0, RETRY_MS)
    else:
        is_due = last is None or last.has_ended
    if is_due:
        jobs.start(JOB_KIND, _build_params(db), by=BY_SCHEDULE)


def _find_jobs(db) -> QuerySet[JobRun]:
    return JobRun.objects.filter(kind=JOB_KIND, params_json=JobRun.params.encode(_build_params(db))).defer(
        "log", "result_json"
    )


def _build_params(db):
    return {"agent": db.removeprefix("agent_")}
