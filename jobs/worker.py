"""The job worker: runs what is queued, one after the other, finds lost runs, and ends a stop in time."""

import itertools
import logging
import signal
import threading
import time
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, OperationalError, connections
from django.utils.module_loading import import_string

from openclaw_web.disk import locks, reserve
from openclaw_web.sqlite import connection_tuning
from people.audit import log as audit
from people.authentication import sign_ins
from problems import check_pass

from . import automatic_tasks, execution
from . import services as jobs

log = logging.getLogger(__name__)

BUSY_SECONDS = 30
POLL_SECONDS = 0.5
RECOVER_SECONDS = 5
END_SECONDS = 5
TICK_EVERY = 6  # rounds of recover: every half minute
CHECK_EVERY = 12  # rounds of recover: every minute, and in the round after somebody did something
PRUNE_EVERY = 720  # rounds of recover: once an hour
GRACE_SECONDS = 30
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)


def work() -> None:
    """Run jobs until the process is told to stop; the running one may finish first, for at most 30 s."""
    connection_tuning.wait_for_writers(BUSY_SECONDS)
    worker = Worker()
    for number in STOPS:
        signal.signal(number, worker.stop)
    with _looking_after_runs(), locks.lock(locks.WORKING, shared=True):
        worker.run()


class Worker:
    """One job after the other; the second signal, or 30 s after the first, breaks the running one off."""

    def __init__(self):
        self.is_wanted = True
        self.is_busy = False

    def run(self) -> None:
        """Run what is queued until `stop`."""
        while self.is_wanted:
            self.is_busy = True
            has_run = _run_next()
            self.is_busy = False
            if self.is_wanted and not has_run:
                time.sleep(POLL_SECONDS)

    def stop(self, signum, frame):
        """What a signal does; an idle worker ends where it stands."""
        if not self.is_wanted or signum == signal.SIGALRM:
            log.warning("the running job is broken off; the next worker goes on with it")
            raise SystemExit(1)
        self.is_wanted = False
        if not self.is_busy:
            raise SystemExit(0)
        log.info("stopping after the running job, or in %s s", GRACE_SECONDS)
        signal.signal(signal.SIGALRM, self.stop)
        signal.alarm(GRACE_SECONDS)


def _run_next():
    """Whether there was a job to run. Its files are closed afterwards: it may have opened hundreds of agents'."""
    try:
        has_run = execution.run_next() is not None
    except OperationalError as exc:  # busy for longer than anybody waits, or a full disk: what ran is found as lost
        log.warning("no job could be run: %s", exc)
        has_run = True
        time.sleep(RECOVER_SECONDS)
    if has_run:
        check_pass.check_all()
        connections.close_all()
    return has_run


@contextmanager
def _looking_after_runs():
    """A thread that looks after runs. It ends before the interpreter does, which may abort over one in a database."""
    ended = threading.Event()
    thread = threading.Thread(target=_look_after_runs, args=[ended], name="recover", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(END_SECONDS)


def _look_after_runs(ended):
    # Its connection stays open between the rounds: the last one to close a SQLite file writes its -wal back and deletes
    # it, and without this one that would be done by nearly every request.
    is_checked, last_act, checked_act = False, 0, 0
    for rounds in itertools.count():
        try:
            jobs.recover()
            if rounds % TICK_EVERY == 0:
                automatic_tasks.start_due()
                reserve.refill(settings.HOME_DIR)
            if rounds % PRUNE_EVERY == 0:
                import_string(settings.PRUNE)()
                sign_ins.prune()
            last_act = audit.find_latest_act(last_act)  # before the check: what is done during it is checked again
        except DatabaseError as exc:
            log.warning("lost jobs could not be looked for: %s", exc)
            connections.close_all()
        if not is_checked or rounds % CHECK_EVERY == 0 or last_act != checked_act:
            is_checked, checked_act = check_pass.check_all(), last_act
        if ended.wait(RECOVER_SECONDS):
            break
    connections.close_all()
