"""Child processes that are restarted, stopped in order, and never outlive their parent.

They are forks: imported code is in memory once for all of them, and a new child starts at once. The parent therefore
runs no threads and has no open database when it forks.
"""

import ctypes
import io
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MORE = signal.SIGUSR1  # from a busy child: start one that is due only then
STEADY_SECONDS = 30  # a child that ran this long counts as started
MAX_FAILURES = 5
LONGEST_PAUSE = 30
NEVER = float("inf")
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15


@dataclass
class Child:
    """A process to keep up: its name for `ps` and the log, and its function."""

    name: str
    run: Callable[[], object]
    is_essential: bool = True  # stop everything when this child cannot be kept up
    is_once: bool = False  # it may end
    stop_round: int = 0  # rounds are stopped in order, each after the one before has ended
    grace_seconds: float = 10
    pid: int | None = None
    exit_code: int | None = None
    failures: int = 0
    started_at: float = 0
    due_at: float = 0


def keep_up(children: list[Child], *, on_stop: Callable[[], object]) -> int:
    """Run the children until a signal or a permanent failure; returns the exit status.

    `on_stop` is called before the children are stopped.
    """
    with Signals() as signals:
        try:
            status = _run_until_stop(children, signals)
            on_stop()
            _stop_children(children, signals)
        finally:
            for child in children:
                _kill(child)
    return status


def die_with_parent(parent: int, name: str) -> None:
    """Let the kernel kill this process when `parent` ends in any way (Linux)."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(1)


class Signals:
    """Signals to wait for: they arrive as bytes in a pipe, never during other work."""

    def __enter__(self):
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        handled = [number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup stays nohup
        self._before = {number: signal.signal(number, _ignore) for number in (*handled, signal.SIGCHLD, MORE)}
        signal.set_wakeup_fd(self._writer)
        return self

    def __exit__(self, *exc_info):
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float | None) -> set[int]:
        """Wait for signals, at most `seconds`; returns those that arrived."""
        select.select([self._reader], [], [], seconds)
        try:
            return set(os.read(self._reader, 1024))
        except BlockingIOError:
            return set()


def _ignore(*_):
    pass  # unlike SIG_IGN, still wakes `Signals.wait`


def _run_until_stop(children, signals):
    """Start children that are due, until a signal (0) or a permanent failure (1)."""
    while True:
        for child in children:
            if child.pid is None and child.due_at <= time.monotonic():
                _start(child)
        arrived = signals.wait(_until_next_start(children))
        if arrived.intersection(STOP_SIGNALS):
            return 0
        waiting = (child for child in children if child.due_at == NEVER and not child.is_once)
        if MORE in arrived and (child := next(waiting, None)):
            child.due_at = 0
        for child in _collect_ended(children):
            _plan_restart(child)
            if child.is_essential and child.failures > MAX_FAILURES:
                log.error("%s ended %s times in a row; giving up", child.name, child.failures)
                return 1


def _until_next_start(children):
    due = min((child.due_at for child in children if child.pid is None), default=NEVER)
    return None if due == NEVER else max(0, due - time.monotonic())


def _start(child):
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child.started_at = time.monotonic()
    # A signal between the fork and the child's own handlers must wait, not be taken by ours.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*STOP_SIGNALS, signal.SIGCHLD))
    child.pid = os.fork()
    if child.pid == 0:
        _run_child(child, parent, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_child(child, parent, signal_mask):
    """Run a child from the fork to its exit."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (*STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)
        os.setpgid(0, 0)  # Ctrl-C is for the parent, which stops the children in order
        signal.pthread_sigmask(signal.SIG_SETMASK, signal_mask)
        die_with_parent(parent, child.name)
        child.run()
        status = 0
    except SystemExit as exc:
        status = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # as at the top of any program: nothing above may go on in this process
        log.exception("%s failed", child.name)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _collect_ended(children):
    """The children that ended since the last call."""
    ended = []
    while (reaped := _reap())[0]:
        for child in children:
            if child.pid == reaped[0]:
                _kill(child)  # processes that it left in its process group
                child.pid, child.exit_code = None, reaped[1]
                ended.append(child)
    return ended


def _reap():
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)  # any process: the first process of a container gets orphans too
    except ChildProcessError:
        return 0, 0
    return pid, os.waitstatus_to_exitcode(status)


def _plan_restart(child):
    now = time.monotonic()
    if child.is_once or child.exit_code == 0:
        child.due_at = NEVER if child.is_once else now
        return
    child.failures = 1 if now - child.started_at > STEADY_SECONDS else child.failures + 1
    pause = min(LONGEST_PAUSE, 0.25 * 2**child.failures) if child.failures > 1 else 0
    child.due_at = now + pause
    log.warning("%s ended (%s); it is started again in %g s", child.name, child.exit_code, pause)


def _stop_children(children, signals):
    """Stop the children round by round, and kill them after the grace."""
    for round_number in sorted({child.stop_round for child in children}):
        members = [child for child in children if child.stop_round == round_number and child.pid]
        deadline = time.monotonic() + max((child.grace_seconds for child in members), default=0)
        for child in members:
            os.kill(child.pid, signal.SIGTERM)
        is_urgent = False
        while any(child.pid for child in members) and time.monotonic() < deadline and not is_urgent:
            arrived = signals.wait(max(0, deadline - time.monotonic()))
            is_urgent = bool(arrived.intersection(STOP_SIGNALS))
            _collect_ended(children)
        for child in members:
            if child.pid:
                log.warning("%s did not end in time and was killed", child.name)
                _kill(child)


def _kill(child):
    if child.pid is None:
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
