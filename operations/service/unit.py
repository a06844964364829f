"""The text of the unit file: texts as systemd quotes them, restrictions of its processes, options of `install`.

See man systemd.syntax and systemd.exec.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from jobs import worker
from openclaw_web.errors import Refused

from ..server.supervisor import SITE_GRACE_SECONDS, is_loopback
from .service_values import ServiceValues
from .unit_places import WANTED_BY

# A unit file is UTF-8 text, and a setting ends with its line.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class NotQuotable(Refused):
    """A text that no unit file can hold."""


def quote_word(text: str | Path) -> str:
    """Quote a word of a list: of `Environment=`, or of the settings that list paths."""
    escaped = _check_text(str(text)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escape_specifiers(escaped)}"'


def quote_program(path: Path) -> str:
    """Quote the first word of `ExecStart=`.

    The colon turns off the variables (`$`) of the whole line.

    Raises NotQuotable for a path that systemd does not start, however it is quoted.
    """
    if set(str(path)) & set("\"'\\"):
        sentence = _("systemd starts no program with quotation marks or backslashes in its path: %(file)s")
        raise NotQuotable(sentence % {"file": path})
    return quote_word(f":{path}")


def quote_file_pattern(path: Path) -> str:
    """Quote the file of `EnvironmentFile=`.

    That setting has no quotation marks, and its value is a pattern as in a shell.
    """
    return _escape_specifiers(re.sub(r"([\\*?\[])", r"\\\1", _check_text(str(path))))


def _escape_specifiers(text):
    return text.replace("%", "%%")


def _check_text(text):
    if _UNFIT.search(text):
        escaped = text.encode("unicode_escape", "backslashreplace").decode()
        sentence = _("A unit file cannot hold %(text)s: only UTF-8 text without line breaks and control characters.")
        raise NotQuotable(sentence % {"text": escaped})
    return text


YES = "yes"

# Both kinds of units. An unprivileged manager can set these too, because nothing gains privileges (NoNewPrivileges).
FOR_EVERY_UNIT = {
    "NoNewPrivileges": YES,
    "UMask": "0077",
    "LockPersonality": YES,
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "RestrictNamespaces": YES,
    "RestrictRealtime": YES,
    "RestrictSUIDSGID": YES,
    "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service",
    "SystemCallErrorNumber": "EPERM",
}
# These need mount namespaces or capabilities. The manager of a user has both only in a user namespace (PrivateUsers).
WITH_NAMESPACES = {
    "ProtectSystem": "strict",
    "ProtectHome": "read-only",
    "PrivateDevices": YES,  # /dev/shm remains: gunicorn needs it
    "ProtectClock": YES,
    "ProtectHostname": YES,
    "ProtectKernelLogs": YES,
    "ProtectKernelModules": YES,
    "ProtectKernelTunables": YES,
    "CapabilityBoundingSet": "",
}
# Left out of user units: only the manager of the system can do these. User= is the owner of the manager anyway; a
# filter of addresses (IPAddressDeny) needs its privileges.
FOR_SYSTEM_UNITS = {
    "ProtectControlGroups": YES,
    "ProtectProc": "invisible",
    "ProcSubset": "pid",
    "RemoveIPC": YES,
    "PrivateMounts": YES,
    "DevicePolicy": "closed",
    "KeyringMode": "private",
}
OF_KEYS = (".ssh", ".gnupg", ".aws", ".kube", ".docker")  # in the home directory of the user: no part of our work
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - replaced by PrivateTmp


def build_directives(values: ServiceValues) -> Iterator[tuple[str, str]]:
    """Yield the directives for a unit, as names and values."""
    yield from FOR_EVERY_UNIT.items()
    if not values.openclaw_command:  # node, which OpenClaw runs on, compiles into memory that it then executes
        yield "MemoryDenyWriteExecute", YES
        yield "SystemCallFilter", "~@privileged @resources"  # of those that the line before allows
    if values.is_system:
        yield from FOR_SYSTEM_UNITS.items()
        # Without a model or an agent elsewhere, the site talks to this machine only.
        model_host = urlsplit(values.variables.get("OPENCLAW_WEB_LLM_URL", "")).hostname
        is_local = is_loopback(values.host) and (model_host is None or is_loopback(model_host))
        if is_local and not values.openclaw_command:
            yield "IPAddressDeny", "any"
            yield "IPAddressAllow", "localhost"
    elif values.has_user_namespaces:
        yield "PrivateUsers", YES
    if values.is_system or values.has_user_namespaces:
        yield from WITH_NAMESPACES.items()
        used_paths = (values.home, values.state_dir, values.program, *values.writable_paths)
        # A private /tmp would hide a home that lies there.
        if not any(path.is_relative_to(folder) for path in used_paths for folder in TEMPORARY):
            yield "PrivateTmp", YES
        yield "ReadWritePaths", " ".join([quote_word(values.home), *map(_quote_optional, values.writable_paths)])
        if values.state_dir not in (values.home, *values.writable_paths):
            yield "ReadOnlyPaths", _quote_optional(values.state_dir)
        if not values.openclaw_command:
            hidden = (values.home_directory / name for name in OF_KEYS)
            paths = [path for path in hidden if not any(used.is_relative_to(path) for used in used_paths)]
            yield "InaccessiblePaths", " ".join(map(_quote_optional, paths))


def _quote_optional(path):
    # systemd ignores a missing path after a hyphen, instead of refusing to start.
    return quote_word(f"-{path}")


MARKER = "# Written by: openclaw-web service install"
# Longer than a stop of `serve` takes: first the site, then the job worker.
STOP_SECONDS = SITE_GRACE_SECONDS + worker.GRACE_SECONDS + 15


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
