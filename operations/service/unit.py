"""The text of the unit file, and the options of `install` in it."""

import re
from dataclasses import dataclass

from jobs import worker

from ..server import supervisor
from .quoting import quote_file_pattern, quote_program, quote_word
from .sandbox import build_directives
from .service_values import ServiceValues
from .unit_places import WANTED_BY

MARKER = "# Written by: openclaw-web service install"
# Longer than a stop of `serve` takes: first the site, then the job worker.
STOP_SECONDS = supervisor.SITE_GRACE_SECONDS + worker.GRACE_SECONDS + 15


@dataclass(frozen=True, slots=True)
class InstalledOptions:
    """The options that a unit file was written with."""

    host: str
    port: int
    user: str = ""


def build_unit(values: ServiceValues) -> str:
    """Build the text of the unit file."""
    edit = "sudo systemctl edit" if values.is_system else "systemctl --user edit"
    head = f"{MARKER}\n# The next installation replaces this file; put changes of your own into: {edit} openclaw-web\n"
    sections = {
        "Unit": _build_unit_section(values),
        "Service": [*_build_service_section(values), *build_directives(values)],
        "Install": [("WantedBy", WANTED_BY[values.is_system])],
    }
    texts = ("\n".join([f"[{name}]", *(f"{key}={value}" for key, value in rows)]) for name, rows in sections.items())
    return head + "\n" + "\n\n".join(texts) + "\n"


def is_ours(text: str) -> bool:
    """Whether `install` has written a unit file."""
    return text.partition("\n")[0] == MARKER


def read_options(text: str) -> InstalledOptions | None:
    """Read the options of `install` from a unit file.

    None when somebody has changed the line with them.
    """
    command = re.search(r"^ExecStart=.* serve --host (\S+) --port (\d+)$", text, re.MULTILINE)
    user = re.search(r"^User=(.+)$", text, re.MULTILINE)
    return InstalledOptions(command[1], int(command[2]), user[1] if user else "") if command else None


def _build_unit_section(values):
    yield "Description", "OpenClaw Web"
    if values.is_system:
        yield "After", "network.target"
        yield "RequiresMountsFor", quote_word(values.home)
    yield "StartLimitIntervalSec", "300"
    yield "StartLimitBurst", "5"


def _build_service_section(values):
    yield "Type", "exec"
    if values.is_system:
        yield "User", values.user
    yield "ExecStart", f"{quote_program(values.program)} serve --host {values.host} --port {values.port}"
    folders = {"OPENCLAW_WEB_HOME": values.home, "OPENCLAW_STATE_DIR": values.state_dir, "PYTHONUNBUFFERED": 1}
    for name, value in {**folders, **values.variables}.items():
        yield "Environment", quote_word(f"{name}={value}")
    yield "EnvironmentFile", f"-{quote_file_pattern(values.secrets_file)}"
    yield from {
        "SyslogIdentifier": "openclaw-web",
        "Restart": "on-failure",
        "RestartSec": "5",
        "RestartPreventExitStatus": "2 3",  # wrong use, and refused: another start would end the same way
        "KillMode": "mixed",  # `serve` stops its own processes in order
        "KillSignal": "SIGTERM",
        "TimeoutStopSec": str(STOP_SECONDS),
    }.items()
