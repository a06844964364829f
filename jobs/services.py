"""Starts, waits for, cancels and recovers jobs.

Each run is a row of `job_runs`, which is also the queue of the workers.
"""

import logging
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.disk import locks, reserve
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from openclaw_web.pages import states
from people.audit import log as audit
from problems import check_pass

from . import cancellation, execution
from . import kinds as job_kinds
from .models import JobRun
from .progress import Listener

log = logging.getLogger(__name__)

STALE_MS = 15_000
MAX_ATTEMPTS = 3
WAIT_SECONDS = 0.2  # between two looks at a run of another process
NEWEST_FIRST = ("-created_at", "-id")


def start(kind: str, params: dict, *, by: str, is_alone: bool = False) -> JobRun:
    """Queue a job and return its row, or the row of the same job under way.

    With `is_alone`, raises Refused while any other job of this kind is queued or running; the first of its reasons
    names that job.
    """
    with transaction.atomic():  # IMMEDIATE: of two callers, the second one sees the row of the first
        job = _find_same_job(kind, params)
        if job is None:
            if is_alone:
                _refuse_second(kind)
            job = _create(kind, params, by)
            audit.record(by, f"{kind}_started", object_type="job", object_id=job.id)
    return job


def run_now(kind: str, params: dict, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run a job in this process and return its row, however it ended.

    The same job is taken over when it is queued; when it runs elsewhere, the new row ends as refused.
    """
    recover()
    try:
        with execution.hold_process_token() as token:
            with transaction.atomic():  # created and claimed at once: no worker takes what this process has begun
                same_job = _find_same_job(kind, params)
                job = same_job if same_job and same_job.state == JobRun.State.QUEUED else _create(kind, params, by)
                if same_job and same_job is not job:
                    return _refuse_duplicate(job, same_job)
                ends_with_process = job_kinds.get_kind(kind).ends_with_terminal
                claimed = execution.claim(job.id, token, ends_with_process=ends_with_process)
                if claimed is None:  # another process was quicker
                    return _refuse_duplicate(_create(kind, params, by), job)
            ended = execution.run_claimed(claimed, listener)
        check_pass.check_all()
        return ended
    finally:
        reserve.refill(settings.HOME_DIR)


def run_started(started: JobRun, listener: Listener | None = None) -> JobRun:
    """Run a job that was just queued in this process, or wait for the worker that was faster."""
    job = run_now(started.kind, started.params, by=started.started_by, listener=listener)
    return job if job.id == started.id else wait(started)


def wait(job: JobRun) -> JobRun:
    """Wait for the end of a run of another process, and return its row.

    When that process is gone, the run continues in this one.
    """
    while not job.has_ended:
        time.sleep(WAIT_SECONDS)
        recover()
        job.refresh_from_db()
        if job.state == JobRun.State.QUEUED:
            job = execution.run(job.id) or job
    return job


def cancel(job: JobRun, *, by: str) -> JobRun:
    """Cancel a job: a queued job ends at once, a running job at its next step.

    A second request changes nothing. Raises Refused for a job that has ended otherwise.
    """
    recover()  # a run without a worker would not read the request
    with transaction.atomic():  # IMMEDIATE: nobody takes it or ends it meanwhile
        job = JobRun.objects.get(id=job.id)
        if job.state == JobRun.State.CANCELLED or (job.cancel_requested_at and not job.has_ended):
            return job
        if job.has_ended:
            sentence = _("This job has already ended (%(state)s): there is nothing to cancel.")
            raise Refused(sentence % {"state": str(states.word(job.state)).lower()})
        job.cancel_requested_at, job.cancel_requested_by = clock.now_ms(), by
        request_columns = {"cancel_requested_at": job.cancel_requested_at, "cancel_requested_by": by}
        ended = cancellation.undo_cancelled(job) if job.state == JobRun.State.QUEUED else {}
        JobRun.objects.filter(id=job.id).update(**request_columns, **ended)
        audit.record(by, "job_cancelled", object_type="job", object_id=job.id)
    job.refresh_from_db()
    return job


def recover(**columns: Any) -> int:
    """Queue runs that lost their worker again, and return how many were handled.

    Canceled runs, and runs in a terminal, are ended instead. Any process may call this at any time. `columns` narrow
    the runs.
    """
    recovered = 0
    for job in JobRun.objects.filter(state=JobRun.State.RUNNING, **columns).defer("log", "result_json"):
        if is_lost(job):
            recovered += _requeue(job)
            locks.remove_run_lock(job.worker)
    return recovered


def is_lost(job: JobRun) -> bool:
    """Return whether the worker of a run is gone."""
    is_dead = locks.is_run_dead(job.worker)
    if is_dead is None:  # of another machine, or the home was moved: only the heartbeat can tell
        return abs(clock.now_ms() - (job.heartbeat_at or 0)) > STALE_MS  # a beat from the future tells nothing
    return is_dead


def end_lost(job: JobRun, sentence: str) -> bool:
    """End a run without a worker as failed; return False while a worker has it.

    The run is not continued.
    """
    if not is_lost(job):
        return False
    ended = {"state": JobRun.State.FAILED, "message": sentence, "finished_at": clock.now_ms()}
    unchanged = {"worker": job.worker, "heartbeat_at": job.heartbeat_at}
    changed = JobRun.objects.filter(id=job.id, state=JobRun.State.RUNNING, **unchanged).update(**ended)
    if changed:
        locks.remove_run_lock(job.worker)
    return bool(changed)


def visible_to(user: Any) -> QuerySet[JobRun]:
    """Return the runs that a person may see: operators all, others those they started."""
    return JobRun.objects.all() if user.has_role("operator") else JobRun.objects.filter(started_by=user.username)


def find_latest(kinds: Sequence[str], count: int, **columns: Any) -> list[JobRun]:
    """Return the newest `count` runs of some kinds, without their logs; `columns` narrow them."""
    return page_of(find_by_kind(kinds, **columns), order=NEWEST_FIRST, size=count)


def find_last(kind: str, params: dict) -> JobRun | None:
    """Return the newest run of a kind with these parameters, ended or not."""
    return next(iter(find_latest([kind], 1, params_json=JobRun.params.encode(params))), None)


def find_by_kind(kinds: Sequence[str], **columns: Any) -> tuple[QuerySet[JobRun], ...]:
    """Return the runs of each of some kinds, without their logs, for `page_of`.

    The runs of one kind come in the order of its index.
    """
    return tuple(JobRun.objects.filter(kind=kind, **columns).defer("log") for kind in kinds)


def _find_under_way(kind):
    return JobRun.objects.filter(kind=kind, state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING))


def _find_same_job(kind, params):
    return _find_under_way(kind).filter(params_json=JobRun.params.encode(params)).first()


def _refuse_second(kind):
    if first := _find_under_way(kind).order_by("created_at", "id").first():
        sentence = _(
            "Not started: a job of this kind, started by %(name)s, is queued or running. Wait until that job has ended."
        )
        refusal = sentence % {"name": first.started_by}
        raise Refused(refusal, reasons=[{"id": first.id, "reason": first.message or str(states.word(first.state))}])


def _create(kind, params, by):
    if kind not in job_kinds.get_names():
        raise KeyError(kind)
    reserve.release(settings.HOME_DIR, reserve.TO_READ)  # for its row
    return JobRun.objects.create(
        id=str(ULID()),
        kind=kind,
        params_json=JobRun.params.encode(params),
        started_by=by,
        language=translation.get_language() or "",
        created_at=clock.now_ms(),
    )


def _refuse_duplicate(job, running_job):
    job.state = JobRun.State.REFUSED
    with job.in_its_language():
        sentence = _("The same job is already running (%(id)s). Wait until that job has ended.")
    job.message = sentence % {"id": running_job.id}
    job.finished_at = clock.now_ms()
    job.save(update_fields=["state", "message", "finished_at"])
    return job


def _requeue(job):
    unchanged = JobRun.objects.filter(
        id=job.id, state=JobRun.State.RUNNING, worker=job.worker, heartbeat_at=job.heartbeat_at
    )
    now = clock.now_ms()
    if job.cancel_requested_at or job.ends_with_process:
        end = cancellation.undo_cancelled if job.cancel_requested_at else cancellation.undo_stopped
        with transaction.atomic():  # of two processes that find the run, one takes it back
            changed = unchanged.update(worker="") and JobRun.objects.filter(id=job.id).update(**end(job))
    elif job.attempts >= MAX_ATTEMPTS:
        with job.in_its_language():
            sentence = _("The worker died %(count)s times at the same place. Check the server log.")
        message = sentence % {"count": job.attempts}
        changed = unchanged.update(state=JobRun.State.FAILED, message=message, finished_at=now)
    else:
        changed = unchanged.update(state=JobRun.State.QUEUED, worker="", heartbeat_at=now)
    if changed:
        log.warning("job %s (%s) lost its worker in attempt %s", job.id, job.kind, job.attempts)
    return changed
