"""Runs one job in this process: claims its row, keeps it alive, and stores its end."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, connections
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.sqlite import failures, known_migrations

from . import cancellation
from . import kinds as job_kinds
from .models import JobRun
from .progress import CancelledJob, Listener, LostJob, Progress

log = logging.getLogger(__name__)

WRITE_SECONDS = 0.5
BEAT_SECONDS = 2.0
KEPT_REASONS = 200
TERMINAL_ENDS = (signal.SIGTERM, signal.SIGHUP)


def run(job_id: str, *, listener: Listener | None = None) -> JobRun | None:
    """Run a queued job in this process, and return its row when it has ended.

    Returns None when another process was quicker.
    """
    with hold_process_token() as token:
        job = claim(job_id, token)
        return run_claimed(job, listener) if job else None


@contextmanager
def hold_process_token() -> Iterator[str]:
    """Hold the lock of a new token, which marks one run, for the block."""
    token = f"{socket.gethostname()}:{os.getpid()}:{ULID()}"
    with locks.hold_run_lock(token):
        yield token


def claim(job_id: str, token: str, *, ends_with_process: bool = False) -> JobRun | None:
    """Claim a queued job for the holder of `token`; None when another process was quicker."""
    now = clock.now_ms()
    claimed = JobRun.objects.filter(id=job_id, state=JobRun.State.QUEUED).update(
        state=JobRun.State.RUNNING,
        attempts=F("attempts") + 1,
        worker=token,
        ends_with_process=ends_with_process,
        started_at=Coalesce("started_at", now),
        heartbeat_at=now,
    )
    return JobRun.objects.get(id=job_id) if claimed else None


def run_claimed(job: JobRun, listener: Listener | None = None) -> JobRun:
    """Run a job that this process has claimed, and return its row when it has ended."""
    progress = Progress(listener, done=job.done, total=job.total, message=job.message, log=job.log)
    with Heartbeat(job, progress), job.in_its_language():
        outcome = _outcome(job, progress)
    _write_end(job, progress, outcome)
    job.refresh_from_db()
    return job


def run_next() -> JobRun | None:
    """Run the queued job that has waited longest, and return its row when it has ended.

    Returns None when no job waits.
    """
    while job_id := _find_longest_waiting():
        if job := run(job_id):  # None: another worker was quicker with this job
            return job
    return None


class Heartbeat(threading.Thread):
    """The thread that stores a run's progress and heartbeat.

    It has a connection of its own, and so is never inside the transactions of the job.
    """

    def __init__(self, job, progress):
        super().__init__(name=f"heartbeat of {job.id}", daemon=True)
        self.job = job
        self.progress = progress
        self._ended = threading.Event()
        self._written = _progress_columns(job, progress)

    def __enter__(self):
        if not connection.in_atomic_block:  # in a transaction of the caller's, it could only wait for that
            self.start()
        return self

    def __exit__(self, *exc_info):
        self._ended.set()
        self.progress.changed.set()
        if self.is_alive():
            self.join()

    def run(self):
        try:
            while not self._ended.is_set():
                self.progress.changed.wait(BEAT_SECONDS)
                self.progress.changed.clear()
                if not self._ended.is_set():
                    self._beat()
                self._ended.wait(WRITE_SECONDS)
        finally:
            connections.close_all()

    def _beat(self):
        columns = _progress_columns(self.job, self.progress)
        changed = {name: value for name, value in columns.items() if value != self._written.get(name)}
        try:
            self.progress.is_cancelled = _find_own_row(self.job).exclude(cancel_requested_at=None).exists()
            is_ours = _find_own_row(self.job).update(**changed, heartbeat_at=clock.now_ms())
        except DatabaseError:  # busy: the next beat tries again
            return
        self._written = columns
        if not is_ours:
            self.progress.is_lost = True


def _find_longest_waiting():
    waiting = JobRun.objects.filter(state=JobRun.State.QUEUED).order_by("created_at", "id")
    return waiting.values_list("id", flat=True).first()


def _find_own_row(job):
    """Return the row of a run as long as this process owns it.

    A new owner writes another token.
    """
    return JobRun.objects.filter(id=job.id, worker=job.worker, state=JobRun.State.RUNNING)


def _progress_columns(job, progress):
    """Return the columns with the progress of a run.

    For the same amount of work, they are never behind those of an earlier attempt.
    """
    is_same_work = job.total in (None, progress.total)
    done = max(progress.done, job.done) if is_same_work else progress.done
    columns = {"done": done, "total": progress.total, "message": progress.message, "log": progress.log_text()}
    # Only attempts without any progress count against the limit: a long job may be interrupted often, but a job
    # must not kill its worker at the same place again and again.
    return columns | ({"attempts": 1} if is_same_work and done > job.done else {})


def _outcome(job, progress):
    """Return the columns that a run ends with; None when another worker has taken it over.

    They are its state, its closing sentence, and the result of the job's function.
    """
    try:
        with _interrupted_by_signals(job):
            job_kinds.refuse_disabled(job.kind)  # queued before the capability was disabled
            params = JobRun.params.decode_strictly(job.params_json)  # without them it would do something else
            result = job_kinds.get_kind(job.kind).run(params, progress) or {}
        return _ended(JobRun.State.FINISHED, result.get("message", ""), JobRun.result.encode(result))
    except LostJob:
        return None
    except CancelledJob:
        job.refresh_from_db(fields=["cancel_requested_by"])
        return cancellation.undo_cancelled(job)
    except Refused as refused:
        reasons = JobRun.result.encode({"reasons": refused.reasons[:KEPT_REASONS]}) if refused.reasons else None
        return _ended(JobRun.State.REFUSED, refused.sentence, reasons)
    except KeyboardInterrupt:
        manually = _ended(JobRun.State.FAILED, _("Stopped manually. Start the job again to continue."))
        _write_end(job, progress, cancellation.undo_stopped(job) if job.ends_with_process else manually)
        raise
    except Exception as exc:
        if sentence := _describe_database_failure(exc):
            log.warning("job %s (%s) failed: %s", job.id, job.kind, exc)
            return _ended(JobRun.State.FAILED, sentence)
        log.exception("job %s (%s) failed", job.id, job.kind)
        sentence = _("The job stopped on an unexpected error (%(name)s). See the server log.")
        return _ended(JobRun.State.FAILED, sentence % {"name": type(exc).__name__})


def _describe_database_failure(exc):
    """The sentence about a database that is outdated, closed to this user or damaged.

    Empty for any other failure.
    """
    if isinstance(exc, OperationalError) and failures.is_old(exc) and known_migrations.find_missing(connection):
        return str(failures.OLD_HOME)
    return failures.describe_unusable(exc, settings.HOME_DIR)


@contextmanager
def _interrupted_by_signals(job):
    """Interrupt a run that ends with its terminal on SIGTERM and SIGHUP.

    Its row then says so. Under nohup a hang-up stays ignored.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in TERMINAL_ENDS
        if job.ends_with_process and is_main and signal.getsignal(number) == signal.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(state, message, result=None):
    return {"state": state, "message": str(message), "result_json": result, "finished_at": clock.now_ms()}


def _write_end(job, progress, outcome):
    columns = {"done": progress.done, "total": progress.total, "log": progress.log_text()}
    if outcome and _find_own_row(job).update(**columns, **outcome, heartbeat_at=outcome["finished_at"]):
        return
    log.warning("job %s (%s) was given to another worker before it ended here", job.id, job.kind)
