"""Machines to install the service on, for a user or root, with a systemctl to watch."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes import CHECKOUT

IS_ROOT = os.geteuid() == 0
# For root: another /etc, in a mount namespace. A user gets the rights for that in a user namespace.
AS_ROOT = ["unshare", "--mount"] if IS_ROOT else ["unshare", "--user", "--map-root-user", "--mount"]
AS_USER = ["unshare", "--user", "--map-user=1234", "--map-group=1234"] if IS_ROOT else []
OF_ETC = ("passwd", "group", "nsswitch.conf", "ld.so.cache", "localtime")


class Machine:
    """Runs `openclaw-web` as a user or as root, as (status, standard output, standard error)."""

    def __init__(self, folder: Path, *, is_system: bool):
        self.is_system, self.folder = is_system, folder
        self.home, self.source, self.etc = folder / "site home", folder / "openclaw", folder / "etc"
        self.state = folder / "systemctl"
        for path in (self.home, self.source, self.state, folder / "bin"):
            path.mkdir()
        config = self.etc if is_system else folder / ".config"
        self.secrets_file = config / "openclaw-web" / "service.env"
        self.unit = config / "systemd" / ("system" if is_system else "user") / "openclaw-web.service"
        self.shown_unit = Path("/etc/systemd/system/openclaw-web.service") if is_system else self.unit
        self._make_programs()
        inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        self.env = inherited | {
            "HOME": str(folder),
            "USER": "tester",
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": str(CHECKOUT),
            "SYSTEMCTL_STATE": str(self.state),
            "OPENCLAW_WEB_HOME": str(self.home),
            "OPENCLAW_STATE_DIR": str(self.source),
        }

    def _make_programs(self):
        stand_in = Path(__file__).with_name("systemctl_stand_in.py")
        self._write_program("systemctl", f'exec "{sys.executable}" "{stand_in}" "$@"')
        self._write_program("loginctl", 'echo "$@" >>"$SYSTEMCTL_STATE/loginctl"; echo no')
        if self.is_system:
            (self.etc / "systemd" / "system").mkdir(parents=True)
            for name in OF_ETC:
                with suppress(FileNotFoundError):
                    shutil.copy(f"/etc/{name}", self.etc)

    def _write_program(self, name, line):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def run(self, *words, **more):
        """Run a command; `more` are environment variables."""
        command = [sys.executable, "-m", "openclaw_web", *words]
        if self.is_system:
            script = f'mount --bind "{self.etc}" /etc && exec "$@"'
            command = [*AS_ROOT, "sh", "-c", script, "sh", *command]
        else:
            command = [*AS_USER, *command]
        done = subprocess.run(command, cwd=CHECKOUT, env=self.env | more, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def service(self, verb, *words, **more):
        """Run a verb of `service`. Root names itself: the home of this machine belongs to it."""
        user = ["--user", "root"] if self.is_system and verb == "install" else []
        return self.run("service", verb, *user, *words, **more)

    def calls(self):
        """Return the changes that systemctl was asked for since the last call."""
        file = self.state / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        verbs = [line.removeprefix("--user ") for line in lines]
        assert all(line.startswith("--user ") != self.is_system for line in lines)
        return [verb for verb in verbs if not verb.startswith("show ") and verb != "show-environment"]

    def stop(self):
        """Stop the site that the stand-in started."""
        with suppress(FileNotFoundError, ProcessLookupError):
            os.killpg(int((self.state / "pid").read_text()), signal.SIGKILL)


@pytest.fixture(params=["user", pytest.param("system", marks=pytest.mark.nightly)])
def machine(request, tmp_path):
    """A machine for the service of a user, and one for that of root."""
    prefix = AS_ROOT if request.param == "system" else AS_USER
    if prefix and subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("this system has no namespaces (unshare)")
    if not os.access(Path(sys.prefix) / "bin" / "openclaw-web", os.X_OK):
        pytest.skip("openclaw-web is not beside this interpreter; ./dev puts it there")
    machine = Machine(tmp_path, is_system=request.param == "system")
    yield machine
    machine.stop()
