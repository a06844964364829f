"""Runs `systemctl` and `loginctl`, for the machine or for the manager of a user."""

import os
import shutil
import subprocess
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.commands.groups import Failed
from openclaw_web.errors import Refused

from .unit import STOP_SECONDS
from .unit_places import NAME

SECONDS = STOP_SECONDS + 60  # a call may wait until the site has stopped


class NoSystemd(Refused):
    """This machine does not run systemd, or its manager cannot be reached."""


class Systemctl:
    """The manager of the machine, or that of the user who runs this command."""

    def __init__(self, *, is_system: bool) -> None:
        self.kind_options = [] if is_system else ["--user"]
        self.environment = os.environ | {"LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
        runtime_folder = Path(f"/run/user/{os.getuid()}")
        if not is_system and "XDG_RUNTIME_DIR" not in os.environ and runtime_folder.is_dir():  # after `su`
            self.environment["XDG_RUNTIME_DIR"] = str(runtime_folder)

    @property
    def words(self) -> str:
        """The beginning of a command line, for sentences."""
        return " ".join(["systemctl", *self.kind_options])

    def check_reachable(self) -> None:
        """Raise NoSystemd unless the manager answers."""
        if not shutil.which("systemctl"):
            raise NoSystemd(
                _("There is no systemd here (no systemctl). openclaw-web service install --print prints the unit.")
            )
        done = self._run("show-environment")
        if done.returncode:
            raise NoSystemd(self._explain_no_manager(_last_line(done)))

    def run(self, *words: str) -> None:
        """Run a verb of systemctl. Raises Failed with its last line."""
        done = self._run(*words)
        if done.returncode:
            sentence = _("%(command)s failed: %(why)s")
            values = {"command": " ".join([self.words, *words]), "why": _last_line(done) or done.returncode}
            raise Failed(sentence % values)

    def get_property(self, name: str) -> str:
        """A property of our unit, such as `ActiveState`; empty when the manager does not know it."""
        return self._run("show", "--property", name, "--value", NAME).stdout.strip()

    def _run(self, *words):
        return _run_program(["systemctl", *self.kind_options, *words], self.environment)

    def _explain_no_manager(self, reason):
        if not self.kind_options:
            sentence = _(
                "systemd does not run this machine: %(why)s. openclaw-web service install --print prints the unit."
            )
        else:
            sentence = _(
                "systemd of your user cannot be reached: %(why)s. Sign in as this user, not with sudo or su, or run as "
                "root: loginctl enable-linger %(user)s. openclaw-web service install --print only prints the unit."
            )
        return sentence % {"why": reason.rstrip("."), "user": os.getuid()}


def has_lingering(user: str) -> bool:
    """Whether the services of a user run without a session of that user."""
    if not shutil.which("loginctl"):
        return False
    command = ["loginctl", "show-user", "--property", "Linger", "--value", user]
    return _run_program(command, os.environ | {"LC_ALL": "C.UTF-8"}).stdout.strip() == "yes"


def _run_program(command, environment):
    try:
        return subprocess.run(
            command,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as exc:
        sentence = _("%(command)s did not end within %(seconds)s seconds.")
        raise Failed(sentence % {"command": " ".join(command), "seconds": SECONDS}) from exc


def _last_line(done):
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else ""
