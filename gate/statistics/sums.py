"""Sums of decisions: changed in the transaction that writes them, or made again from all of them with the same result.

With `memoryGateAuditing.enableStats` off there are none; the first write or look after it is on again makes them, or
starts the job that does when there are many.
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
AGAIN_MS = 10 * 60_000  # after a job that failed


def is_on() -> bool:
    """Whether sums are kept."""
    return configuration.is_on(SETTING)


def apply_changes(db: str, changes: SumChanges) -> None:
    """Change the sums, in the caller's transaction and after its decisions and calls are written."""
    if not is_on():
        reset_sums(db)
        return
    made = sum_tables.read_state(db)
    if made is None and _is_lost(db, changes):
        made = reset_sums(db)
    if made is None:
        _add(db, changes)
        return
    _add(db, changes.until(*made))
    _make_soon(db)


def ensure_complete(db: str) -> bool:
    """Whether the sums hold everything. When they do not, few decisions are counted now, many by a job."""
    if not is_on():
        return False
    if sum_tables.read_state(db) is None and not _is_lost(db):
        return True
    with transaction.atomic(using=db):
        if sum_tables.read_state(db) is None and _is_lost(db):  # nobody was quicker
            reset_sums(db)
        _make_soon(db)
    return is_complete(db)


def is_complete(db: str) -> bool:
    """Whether no sums are being made, or waiting to be."""
    return sum_tables.read_state(db) is None


def rebuild(db: str) -> None:
    """Make all sums again, now. Decisions may come in meanwhile."""
    with transaction.atomic(using=db):
        reset_sums(db)
    while sum_rebuild.run_step(db):
        pass


def clear(db: str) -> None:
    """Remove all sums; they are made when they are asked for."""
    with transaction.atomic(using=db):
        reset_sums(db)


def find_job(db: str) -> JobRun | None:
    """The newest job that makes these sums; None when there was none."""
    return _jobs(db).order_by("-created_at", "-id").first()


def _add(db, changes):
    sum_tables.store_changes(db, changes)
    sessions = sum_tables.count_new_sessions(db, changes)
    sum_tables.store_daily_stats(db, {day for day, _session in changes.visits}, sessions, is_less=changes.is_less)


def _is_lost(db, changes=None):
    """Whether there are decisions or failed calls and no sums of them: they are to be made anew."""
    if not sum_tables.is_empty(db):
        return False
    new = changes.hours.values() if changes else ()
    decisions, calls = max(0, sum(one.total for one in new)), max(0, sum(one.failed for one in new))
    if sum_tables.count_up_to(db, MemoryGateDecision, decisions + 1) > decisions:
        return True
    failed = GateCall.objects.using(db).filter(outcome__in=FAILED_OUTCOMES, replay_id=None)
    return failed.values("pk")[: calls + 1].count() > calls


def _make_soon(db):
    if sum_rebuild.is_small(db):
        while sum_rebuild.run_step(db):
            pass
    else:
        transaction.on_commit(lambda: _start_job(db), using=db)


def _start_job(db):
    last = find_job(db)
    if last and last.has_ended and last.state != JobRun.State.FINISHED:
        is_due = not clock.is_recent(last.finished_at or 0, AGAIN_MS)
    else:
        is_due = last is None or last.has_ended
    if is_due:
        jobs.start(JOB_KIND, _params(db), by=BY_SCHEDULE)


def _jobs(db) -> QuerySet[JobRun]:
    return JobRun.objects.filter(kind=JOB_KIND, params_json=JobRun.params.encode(_params(db))).defer(
        "log", "result_json"
    )


def _params(db):
    return {"agent": db.removeprefix("agent_")}
