"""The job worker: django-tasks' own loop, plus what finds lost runs and ends a stop in time."""

import itertools
import logging
import signal
import socket
import threading
import time
from os import getpid

from django.conf import settings
from django.db import DatabaseError, OperationalError, connections
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.utils import is_locked_database_exception

from agents import databases
from openclaw_web import reserve
from openclaw_web.disk import locks

from . import jobs, pruning, sign_ins, ticking

log = logging.getLogger(__name__)

BUSY_SECONDS = 30
POLL_SECONDS = 0.5
RECOVER_SECONDS = 5
TICK_EVERY = 6  # rounds of recover: every half minute
PRUNE_EVERY = 720  # rounds of recover: once an hour
GRACE_SECONDS = 30


def work() -> None:
    """Run jobs until the process is told to stop; the running one may finish first, for at most 30 s."""
    databases.wait_for_writers(BUSY_SECONDS)
    for name in ("django_tasks", "django_tasks_db"):  # job_runs says the same, better
        logging.getLogger(name).setLevel(logging.WARNING)
    worker = JobWorker()
    worker.configure_signals()
    threading.Thread(target=_look_after_runs, name="recover", daemon=True).start()
    with locks.lock(locks.WORKING, shared=True):
        while worker.running:
            try:
                worker.run()
            except OperationalError as exc:  # the loop itself only expects a busy database inside its transaction
                if not is_locked_database_exception(exc):
                    raise
                time.sleep(POLL_SECONDS)


class JobWorker(Worker):
    """django-tasks' worker; the second signal, or 30 s after the first, breaks the running job off."""

    def __init__(self):
        super().__init__(
            queue_names=["default"],
            excluded_queue_names=[],
            interval=POLL_SECONDS,
            batch=False,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=f"{socket.gethostname()}:{getpid()}"[-64:],
        )

    def shutdown(self, signum, frame):
        if not self.running or signum == signal.SIGALRM:
            log.warning("the running job is broken off; the next worker goes on with it")
            raise SystemExit(1)
        self.running = False
        if not self.running_task:
            raise SystemExit(0)
        log.info("stopping after the running job, or in %s s", GRACE_SECONDS)
        signal.signal(signal.SIGALRM, self.shutdown)
        signal.alarm(GRACE_SECONDS)


def _look_after_runs():
    # Its connection stays open between the rounds: the last one to close a SQLite file writes its -wal back and deletes
    # it, and without this one that would be done by nearly every request.
    for rounds in itertools.count():
        try:
            jobs.recover()
            if rounds % TICK_EVERY == 0:
                ticking.start_due()
                reserve.keep(settings.HOME_DIR)
            if rounds % PRUNE_EVERY == 0:
                jobs.prune_deliveries()
                pruning.prune()
                sign_ins.prune()
        except DatabaseError as exc:
            log.warning("lost jobs could not be looked for: %s", exc)
            connections.close_all()
        time.sleep(RECOVER_SECONDS)
