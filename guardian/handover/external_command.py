"""Runs one external program without a shell, bounded in time and output.

It has a process group of its own.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_OUTPUT = 262_144  # bytes that are kept of each of both outputs; the rest is read and dropped
CHUNK = 65_536
PAUSE = 0.2  # seconds between two checks of the program and of its cancellation
GRACE = 5.0  # seconds between TERM and KILL


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a program: its exit status and the beginning of its outputs.

    A negative status is the signal that ended it.
    """

    status: int
    output: bytes
    errors: bytes
    is_timed_out: bool = False


def run_command(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    check_wanted: Callable[[], object],
) -> CommandResult:
    """Run a program until it ends, for `seconds` at most.

    Then its process group is ended, with TERM and then KILL. `check_wanted` is called while the program runs; an
    exception of it ends the group too, and is raised here. Raises OSError when the program cannot be started.
    """
    process = subprocess.Popen(
        list(arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    )
    outputs = _Outputs(process)
    ends = time.monotonic() + seconds
    is_timed_out = False
    try:
        while process.poll() is None and not is_timed_out:
            check_wanted()
            outputs.read(PAUSE)
            is_timed_out = time.monotonic() > ends
    finally:
        if process.returncode is None:
            _end_group(process)
        outputs.read_rest()
        outputs.close()
    return CommandResult(process.returncode, bytes(outputs.output), bytes(outputs.errors), is_timed_out)


class _Outputs:
    """Both outputs of a process, read so that it never waits for us."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self.output, self.errors = bytearray(), bytearray()
        self._pipes = (process.stdout, process.stderr)
        self._selector = selectors.DefaultSelector()
        for pipe, buffer in zip(self._pipes, (self.output, self.errors), strict=True):
            self._selector.register(pipe, selectors.EVENT_READ, buffer)

    def read(self, seconds: float) -> bool:
        """Read what is there, for `seconds` at most; return whether there was anything."""
        if not self._selector.get_map():
            time.sleep(seconds)
            return False
        ready = self._selector.select(seconds)
        for key, _events in ready:
            if part := os.read(key.fd, CHUNK):
                key.data.extend(part[: max(0, MOST_OUTPUT - len(key.data))])
            else:
                self._selector.unregister(key.fileobj)
        return bool(ready)

    def read_rest(self) -> None:
        """Read what an ended process left in its pipes.

        A process that it started may hold them open.
        """
        for _number in range(2 * MOST_OUTPUT // CHUNK):
            if not self._selector.get_map() or not self.read(0):
                return

    def close(self) -> None:
        """Close both pipes."""
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()


def _end_group(process):
    """End a process and all that it started.

    The process is reaped last: until then nobody else has its number.
    """
    os.killpg(process.pid, signal.SIGTERM)
    ends = time.monotonic() + GRACE
    while time.monotonic() < ends and not _has_ended(process.pid):
        time.sleep(PAUSE / 4)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _has_ended(pid):
    """Whether a child has ended; it stays to be reaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
