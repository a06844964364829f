"""Runs one external program without a shell, bounded in time and output.

It has a process group of its own, which ends with it, and with this process: `group_watch`.
"""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from . import group_watch

ENABLED, SECONDS = "writeGuardian.handOver", "writeGuardian.handOverSeconds"
# All that the command gets of our environment; OPENCLAW_STATE_DIR is set to the home of the agent.
PASSED_ON = ("HOME", "PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR", "OPENCLAW_CONFIG_PATH")


class HandoverOff(Refused):
    """Handovers are off: the command or the setting is missing."""


def problem_of() -> str:
    """Return why nothing is handed to an agent, as a sentence; empty otherwise."""
    if not settings.OPENCLAW_COMMAND:
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW does not name the command of OpenClaw.")
    if not configuration.is_on(ENABLED):
        return _("Changes are not handed to agents: writeGuardian.handOver is off in the settings.")
    path = Path(settings.OPENCLAW_COMMAND)
    if not path.is_absolute():
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW is not an absolute path.")
    if not path.is_file() or not os.access(path, os.X_OK):
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW names no program that can be started.")
    return ""


def get_command() -> str:
    """Return the absolute path of the command.

    Raises HandoverOff while nothing may be handed over.
    """
    if problem := problem_of():
        raise HandoverOff(problem)
    return str(settings.OPENCLAW_COMMAND)


def get_seconds() -> int:
    return configuration.get_number(SECONDS)


def build_environment(state_dir: Path) -> dict[str, str]:
    """Build the environment of the command: a few names, and the agent's home."""
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed | {"OPENCLAW_STATE_DIR": str(state_dir)}


MOST_OUTPUT = 262_144  # bytes that are kept of each of both outputs; the rest is read and dropped
CHUNK = 65_536
PAUSE = 0.2  # seconds between two checks of the program and of its cancellation
GRACE = 5.0  # seconds between TERM and KILL


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a program: its exit status and the beginning of its outputs.

    A status over 128 is the signal that ended it.
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
    exception of it ends the group too, and is raised here. Raises OSError when no process can be started.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", group_watch.__file__, str(GRACE), *arguments],
        stdin=subprocess.PIPE,
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
        process.stdin.close()
        while process.poll() is None:
            outputs.read(PAUSE)
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
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()
