"""Capabilities that OPENCLAW_WEB_DISABLED hides: commands, pages, API, jobs. Their tables stay.

`openclaw-web --help` imports this module without settings, so the names of disabled capabilities are passed to it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

VARIABLE = "OPENCLAW_WEB_DISABLED"


@dataclass(frozen=True, slots=True)
class Capability:
    """Parts of a capability outside the app that has its name.

    The pages, routers and kinds of jobs of that app belong to it anyway, as do routers with its name as a tag.
    """

    commands: tuple[str, ...] = ()  # a command, or the command and the verb
    routes: tuple[str, ...] = ()  # pages of other apps
    jobs: tuple[str, ...] = ()  # kinds of jobs of other apps


CAPABILITIES = {
    "episodes": Capability(commands=("episodes",)),
    "gate": Capability(commands=("reflection gate",)),
    "guardian": Capability(commands=("reflection guardian",), routes=("overview:memory_list",)),
    "artifacts": Capability(
        commands=("artifact",),
        routes=("operations:lint_list", "operations:artifact_store", "operations:artifact_store_clear"),
        jobs=("artifact_gc",),
    ),
    "datasets": Capability(commands=("export", "verify_export", "reflection dataset"), jobs=("findings_scan",)),
    "automation": Capability(),
}
UPKEEP = frozenset({"gate_statistics"})  # jobs that imports start: sums of rows that are stored all the same


def split_names(text: str) -> frozenset[str]:
    """Return the names in a text with commas between them."""
    return frozenset(filter(None, (name.strip().lower() for name in text.split(","))))


def read_names(text: str) -> frozenset[str]:
    """Return the capabilities that a value of the variable disables.

    Raises ImproperlyConfigured for an unknown name.
    """
    names = split_names(text)
    if unknown := sorted(names - CAPABILITIES.keys()):
        known = ", ".join(sorted(CAPABILITIES))
        raise ImproperlyConfigured(f"{VARIABLE} must hold names of {known}, separated by commas, not {unknown[0]!r}.")
    return names


def find_route_owner(route: str) -> str:
    """Return the capability of a page by its route, such as `gate:decision_list`; empty without one."""
    app = route.partition(":")[0]
    owners = (name for name, capability in CAPABILITIES.items() if app == name or route in capability.routes)
    return next(owners, "")


def find_router_owner(module: str, tags: Collection[str]) -> str:
    """Return the capability of a router by its module and tags; empty without one."""
    return next((name for name in (module.partition(".")[0], *tags) if name in CAPABILITIES), "")


def find_job_owner(kind: str, path: str) -> str:
    """Return the capability of a kind of job; empty without one.

    `path` is the dotted path of its declaration.
    """
    if kind in UPKEEP:
        return ""
    app = path.partition(".")[0]
    owners = (name for name, capability in CAPABILITIES.items() if app == name or kind in capability.jobs)
    return next(owners, "")


def is_command_disabled(command: str, disabled: Collection[str]) -> bool:
    """Return whether a command, or a verb such as `reflection gate`, belongs to disabled capabilities only."""
    owners = {
        name
        for name, capability in CAPABILITIES.items()
        if any(f"{owned} ".startswith(f"{command} ") for owned in capability.commands)
    }
    return bool(owners) and owners.issubset(disabled)


def describe(name: str) -> str:
    """Return the sentence about a capability or command that is disabled."""
    from django.utils.translation import gettext as _  # imported here: --help has to answer at once

    return _("%(name)s is disabled (OPENCLAW_WEB_DISABLED).") % {"name": name}
