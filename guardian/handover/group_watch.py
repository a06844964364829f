"""Runs a command in a process group of its own, and ends the whole group with it. A program without Django.

It ends the group when the command has ended, when its input is closed, and so also when its parent was killed.
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PAUSE = 0.1  # seconds between two checks


def watch(arguments: list[str], grace: float) -> int:
    """Run the command, and return its exit status; 128 and the signal where one ended it."""
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, start_new_session=True)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # only the closed input ends it
    while not _has_ended(process) and not select.select([0], [], [], PAUSE)[0]:
        pass
    _end_group(process, grace)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _has_ended(process):
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _end_group(process, grace):
    """End all processes of the group, with TERM and then KILL.

    The first is reaped last: until then nobody else has its number.
    """
    if not _has_members(process.pid):
        return
    ends = time.monotonic() + grace
    os.killpg(process.pid, signal.SIGTERM)
    while _has_members(process.pid) and time.monotonic() < ends:
        time.sleep(PAUSE / 2)
    os.killpg(process.pid, signal.SIGKILL)


def _has_members(group):
    """Whether a process of the group runs. Where the system has no /proc, one may."""
    files = list(Path("/proc").glob("[0-9]*/stat"))
    for file in files:
        with suppress(OSError):
            state, _parent, its_group = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                return True
    return not files


if __name__ == "__main__":
    try:
        sys.exit(watch(sys.argv[2:], float(sys.argv[1])))
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")
