"""Repeats the reading of a growing source until a signal, a time limit or silence."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openclaw_web.commands.groups import WrongUse

FEWEST_POLL_MS = 100
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class FollowResult:
    """How often a source was read, and why that ended: `signal`, `idle_timeout` or `max_duration`."""

    cycles: int = 0
    active_cycles: int = 0
    duration_ms: int = 0
    stop_reason: str = ""
    signal_name: str | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """When a source is read again and when that ends; 0 seconds: never."""

    poll_ms: int
    idle_seconds: float = 0
    most_seconds: float = 0

    def check(self) -> None:
        """Raise WrongUse for times that make no sense."""
        if self.poll_ms < FEWEST_POLL_MS:
            raise WrongUse(f"--poll-interval-ms must be >= {FEWEST_POLL_MS}")
        if not math.isfinite(self.idle_seconds) or self.idle_seconds < 0:
            raise WrongUse("--idle-exit-seconds must be >= 0")
        if not math.isfinite(self.most_seconds) or self.most_seconds < 0:
            raise WrongUse("--max-duration-seconds must be a finite value >= 0")

    def run(self, read: Callable[[], bool]) -> FollowResult:
        """Call `read`, which returns whether anything was new, again and again until the end."""
        result, started = FollowResult(), time.monotonic()
        active_at = started
        with _catch_signals(result) as stop:
            while not self._is_over(result, started, active_at):
                is_active = read()
                result.cycles += 1
                result.active_cycles += is_active
                if is_active:
                    active_at = time.monotonic()
                else:
                    stop.wait(self.poll_ms / 1000)
        result.duration_ms = int((time.monotonic() - started) * 1000)
        return result

    def _is_over(self, result, started, active_at):
        now = time.monotonic()
        if result.signal_name:
            result.stop_reason = "signal"
        elif self.most_seconds and now - started >= self.most_seconds:
            result.stop_reason = "max_duration"
        elif self.idle_seconds and result.cycles and now - active_at >= self.idle_seconds:
            result.stop_reason = "idle_timeout"
        return bool(result.stop_reason)


@contextmanager
def _catch_signals(result: FollowResult) -> Iterator[threading.Event]:
    """Let signals end the following instead of the process, so that its receipt is printed."""
    stop = threading.Event()

    def note(number, _frame):
        result.signal_name = signal.Signals(number).name
        stop.set()

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
