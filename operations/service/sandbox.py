"""Directives that restrict the processes of a service (man systemd.exec)."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ..server.supervisor import is_loopback
from .quoting import quote_word
from .service_values import ServiceValues

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
        yield from _build_network_directives(values)
    elif values.has_user_namespaces:
        yield "PrivateUsers", YES
    if values.is_system or values.has_user_namespaces:
        yield from WITH_NAMESPACES.items()
        yield from _build_path_directives(values)


def _build_network_directives(values):
    """Without a model or an agent elsewhere, the site talks to this machine only."""
    model_host = urlsplit(values.variables.get("OPENCLAW_WEB_LLM_URL", "")).hostname
    is_local = is_loopback(values.host) and (model_host is None or is_loopback(model_host))
    if is_local and not values.openclaw_command:
        yield "IPAddressDeny", "any"
        yield "IPAddressAllow", "localhost"


def _build_path_directives(values):
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
