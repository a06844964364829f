"""Where the memory files of an agent are, and whether this site may write there."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from agents.homes import NoHome, read_home
from agents.models import Agent, CollectorSource
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from people.configuration import keys as configuration

SYSTEM = tuple(map(Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")))
OWN = ("state", "agents", "artifacts", "exports", "backups", "archive", "rollback-copies", "static")  # in our home
ENABLED = "writeGuardianAuditing.enableRollback"


class MayNotWrite(Refused):
    """This site does not write into workspaces, or nobody knows where the agent has its own."""


def workspace_of(agent: Agent) -> Path:
    """The workspace of an agent, as its OpenClaw folder names it today. Raises MayNotWrite when there is none."""
    source = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, agent_id=agent.agent_id).first()
    if source is not None:
        try:
            home = read_home(Path(source.root))
        except NoHome as exc:
            raise MayNotWrite(exc.sentence) from exc
        found = next((one.workspace for one in home.agents if one.home_name == agent.home_name), None)
        if found is not None:
            return _checked(found.resolve())
    raise MayNotWrite(_("The workspace of agent %(agent)s is not known.") % {"agent": agent.agent_id})


def _checked(place):
    """A workspace is never in a folder of the system, nor in one of this site."""
    home = settings.HOME_DIR.resolve()
    folders = (*SYSTEM, *(home / name for name in OWN))
    if place in (Path("/"), home) or any(place.is_relative_to(one) for one in folders):
        words = {"path": place}
        raise MayNotWrite(_("The workspace %(path)s is a folder of the system or of this site: never written.") % words)
    return place


@contextmanager
def alone(agent: Agent) -> Iterator[None]:
    """Nobody else writes to this agent's memory files for the block: waits until then. Agents may share a workspace."""
    try:
        place = hashlib.sha256(os.fsencode(workspace_of(agent))).hexdigest()[:16]
    except MayNotWrite:  # then nothing is written
        place = agent.agent_id
    with locks.lock(f"rollback-{place}.lock"):
        yield


def check() -> None:
    """Raises MayNotWrite unless rollbacks are on and this site may write into workspaces."""
    if not configuration.get(ENABLED):
        raise MayNotWrite(_("Rollbacks are off: writeGuardianAuditing.enableRollback is off in the settings."))
    check_writes()


def check_writes() -> None:
    """Raises MayNotWrite unless this site may write into workspaces."""
    if not settings.WORKSPACE_WRITES:
        raise MayNotWrite(
            _("This site does not write into workspaces. Set OPENCLAW_WEB_WORKSPACE_WRITES=1, or apply the patch.")
        )
