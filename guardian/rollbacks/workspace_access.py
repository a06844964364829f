"""Where the memory files of an agent are, and whether this site may write there."""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from agents.database_copies import Copies
from agents.homes import HomeAgent, NoHome
from agents.layout.home_agents import follow_reported_workspace, read_home
from agents.models import Agent, CollectorSource
from ledger import prompt_workspaces
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.pages.glyphs import escape_name
from people.configuration import setting_values as configuration

SYSTEM = tuple(map(Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")))
OWN = ("state", "agents", "artifacts", "exports", "backups", "archive", "rollback-copies", "static")  # in our home
ENABLED = "writeGuardianAuditing.enableRollback"
MAX_WRITERS = 2  # writers in one process: each holds a thread for five seconds, and the others are for pages
WAIT_SECONDS = 5  # what the next one is told to wait
_free = threading.BoundedSemaphore(MAX_WRITERS)


class MayNotWrite(Refused):
    """This site does not write into workspaces, or nobody knows where the agent has its own."""


class TooManyWriters(Refused):
    """As many memory files are being written in this process as may be."""

    status = 503
    code = "too_many_rollbacks"
    headers = {"Retry-After": WAIT_SECONDS}


def get_workspace(agent: Agent) -> Path:
    """The workspace of an agent that its newest prompt was made in, else the configured one; where writes may go.

    Raises MayNotWrite when there is none, or when the newest report names a folder that is not there.
    """
    source = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, agent_id=agent.agent_id).first()
    if source is not None:
        found = _home_agent(Path(source.root), agent)
        if found is not None and found.reported and not found.is_reported:
            words = {"agent": agent.agent_id, "path": escape_name(found.reported)}
            raise MayNotWrite(
                _(
                    "OpenClaw's newest prompt of the agent %(agent)s came from the workspace %(path)s, which is not "
                    "there. Nothing is written into another folder. Import again after the agent's next answer."
                )
                % words
            )
        if found is not None and found.workspace is not None:
            return _checked(found.workspace.resolve())
    raise MayNotWrite(_("The workspace of agent %(agent)s is not known.") % {"agent": agent.agent_id})


def _home_agent(root, agent) -> HomeAgent | None:
    """The agent as its home has it now, with the workspace of its newest report."""
    try:
        home = read_home(root)
    except NoHome as exc:
        raise MayNotWrite(exc.sentence) from exc
    found = next((one for one in home.agents if one.home_name == agent.home_name), None)
    if found is None:
        return None
    if agent.workspace_reported_at is None:  # stored by a version that did not ask
        with Copies() as copies:
            at, folder = prompt_workspaces.read_newest(home, found, copies)
        agent.workspace_reported_at, agent.reported_workspace = at, folder
        Agent.objects.filter(agent_id=agent.agent_id).update(workspace_reported_at=at, reported_workspace=folder)
    return follow_reported_workspace(home, found, agent.reported_workspace)


def _checked(place):
    """A workspace is never in a folder of the system, nor in one of this site."""
    home = settings.HOME_DIR.resolve()
    folders = (*SYSTEM, *(home / name for name in OWN))
    if place in (Path("/"), home) or any(place.is_relative_to(one) for one in folders):
        words = {"path": place}
        raise MayNotWrite(_("The workspace %(path)s is a folder of the system or of this site: never written.") % words)
    return place


@contextmanager
def exclusive_write(agent: Agent) -> Iterator[None]:
    """Nobody else writes to this agent's memory files for the block: waits until then. Agents may share a workspace.

    Raises TooManyWriters at once when two threads of this process write, or wait to.
    """
    if not _free.acquire(blocking=False):
        sentence = _(
            "Nothing was written: only %(count)s memory files can be written at a time. "
            "Try again in %(seconds)s seconds."
        )
        raise TooManyWriters(sentence % {"count": MAX_WRITERS, "seconds": WAIT_SECONDS})
    try:
        with exclusive_job_write(agent):
            yield
    finally:
        _free.release()


def exclusive_job_write(agent: Agent) -> AbstractContextManager[bool]:
    """The same for jobs, which wait however many write: no page waits for their threads."""
    try:
        place = hashlib.sha256(os.fsencode(get_workspace(agent))).hexdigest()[:16]
    except MayNotWrite:  # then nothing is written
        place = agent.agent_id
    return locks.lock(f"rollback-{place}.lock")


def check_rollbacks() -> None:
    """Raises MayNotWrite unless rollbacks are on and this site may write into workspaces."""
    check_enabled()
    check_writes()


def check_enabled() -> None:
    """Raises MayNotWrite unless rollbacks are on."""
    if not configuration.is_on(ENABLED):
        raise MayNotWrite(_("Rollbacks are off: writeGuardianAuditing.enableRollback is off in the settings."))


def check_writes() -> None:
    """Raises MayNotWrite unless this site may write into workspaces."""
    if not settings.WORKSPACE_WRITES:
        raise MayNotWrite(
            _("This site does not write into workspaces. Set OPENCLAW_WEB_WORKSPACE_WRITES=1, or apply the patch.")
        )
