"""The job worker: runs queued jobs one by one, and recovers lost runs.

It ends within 30 s after a signal.
"""

import itertools
import logging
import resource
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
from .progress import Progress

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


def work(most_growth: float = float("inf")) -> None:
    """Run jobs until a signal ends the process, or it is idle and has grown by so many kilobytes.

    The running job may finish, for at most 30 s.
    """
    connection_tuning.wait_for_writers(BUSY_SECONDS)
    worker = Worker(_read_peak() + most_growth)
    for number in STOPS:
        signal.signal(number, worker.stop)
    with _upkeep_thread(), locks.lock(locks.WORKING, shared=True):
        worker.run()


class Worker:
    """Runs one job after the other until a signal comes.

    The second signal interrupts the running job, as do 30 s after the first.
    """

    def __init__(self, most_memory):
        self.most_memory = most_memory
        self.is_wanted = True
        self.is_busy = False

    def run(self) -> None:
        """Run queued jobs until `stop`, or until there are none and jobs took much memory, which would stay."""
        has_worked = False  # upkeep alone would grow the next worker as well
        while self.is_wanted:
            self.is_busy = True
            try:
                has_run = execution.run_next() is not None
            except OperationalError as exc:  # locked for too long, or a full disk: `recover` finds the run as lost
                log.warning("no job could be run: %s", exc)
                has_run = True
                time.sleep(RECOVER_SECONDS)
            if has_run:
                if self.is_wanted:  # a process that ends leaves the checks to the next one
                    check_pass.check_all()
                connections.close_all()  # a job may have opened the files of hundreds of agents
            self.is_busy = False
            has_worked |= has_run
            if has_worked and not has_run and _read_peak() > self.most_memory:
                break
            if self.is_wanted and not has_run:
                time.sleep(POLL_SECONDS)

    def stop(self, signum, frame):
        """Handle a signal: an idle worker ends at once, a busy one after its job."""
        if not self.is_wanted or signum == signal.SIGALRM:
            log.warning("the running job is broken off; the next worker goes on with it")
            raise SystemExit(1)
        self.is_wanted, Progress.is_ending = False, True
        if not self.is_busy:
            raise SystemExit(0)
        log.info("stopping after the running job, or in %s s", GRACE_SECONDS)
        signal.signal(signal.SIGALRM, self.stop)
        signal.alarm(GRACE_SECONDS)


def _read_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def _upkeep_thread():
    """Run the upkeep thread for the block.

    The thread ends before the interpreter, which may abort while a thread is in a database.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_do_upkeep, args=[ended], name="recover", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(END_SECONDS)


def _do_upkeep(ended):
    # Its connection stays open between the rounds: the last connection to close a SQLite file writes its -wal back and
    # deletes it, which nearly every request would do without this one.
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
            last_act = audit.find_latest_act(last_act)  # before the check: acts during the check cause another one
        except DatabaseError as exc:
            log.warning("lost jobs could not be looked for: %s", exc)
            connections.close_all()
        if not is_checked or rounds % CHECK_EVERY == 0 or last_act != checked_act:
            is_checked, checked_act = check_pass.check_all(), last_act
        if ended.wait(RECOVER_SECONDS):
            break
    connections.close_all()
