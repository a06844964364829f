"""Finds the workspace of an agent, and checks whether this site may write there."""

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
WAIT_SECONDS = 5  # Retry-After of the next writer
_free = threading.BoundedSemaphore(MAX_WRITERS)


class MayNotWrite(Refused):
    """This site does not write into workspaces, or nobody knows where the agent has its own."""


class TooManyWriters(Refused):
    """This process already writes as many memory files as it may."""

    status = 503
    code = "too_many_rollbacks"
    headers = {"Retry-After": WAIT_SECONDS}


def get_workspace(agent: Agent) -> Path:
    """Return the workspace of an agent, where its memory files may be written.

    It is the one that the agent's newest prompt was made in, else the configured one. Raises MayNotWrite when there is
    none, or when the newest report names a folder that is not there.
    """
    source = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, agent_id=agent.agent_id).first()
    if source is not None:
        home_agent = _read_home_agent(Path(source.root), agent)
        if home_agent is not None and home_agent.reported and not home_agent.is_reported:
            words = {"agent": agent.agent_id, "path": escape_name(home_agent.reported)}
            raise MayNotWrite(
                _(
                    "OpenClaw's newest prompt of the agent %(agent)s came from the workspace %(path)s, which is not "
                    "there. Nothing is written into another folder. Import again after the agent's next answer."
                )
                % words
            )
        if home_agent is not None and home_agent.workspace is not None:
            return _check_workspace(home_agent.workspace.resolve())
    raise MayNotWrite(_("The workspace of agent %(agent)s is not known.") % {"agent": agent.agent_id})


def _read_home_agent(root, agent) -> HomeAgent | None:
    """Return the agent as its home has it now, with its newest reported workspace."""
    try:
        home = read_home(root)
    except NoHome as exc:
        raise MayNotWrite(exc.sentence) from exc
    home_agent = next((candidate for candidate in home.agents if candidate.home_name == agent.home_name), None)
    if home_agent is None:
        return None
    if agent.workspace_reported_at is None:  # stored by a version of this site that did not read it
        with Copies() as copies:
            at, folder = prompt_workspaces.read_newest(home, home_agent, copies)
        agent.workspace_reported_at, agent.reported_workspace = at, folder
        Agent.objects.filter(agent_id=agent.agent_id).update(workspace_reported_at=at, reported_workspace=folder)
    return follow_reported_workspace(home, home_agent, agent.reported_workspace)


def _check_workspace(place):
    """Return a workspace that is no folder of the system or of this site.

    Raises MayNotWrite for any other.
    """
    home = settings.HOME_DIR.resolve()
    folders = (*SYSTEM, *(home / name for name in OWN))
    if place in (Path("/"), home) or any(place.is_relative_to(folder) for folder in folders):
        words = {"path": place}
        raise MayNotWrite(_("The workspace %(path)s is a folder of the system or of this site: never written.") % words)
    return place


@contextmanager
def exclusive_write(agent: Agent) -> Iterator[None]:
    """Keep all others from writing an agent's memory files while the block runs.

    Waits until nobody else writes. Agents may share a workspace. Raises TooManyWriters at once when two threads of this
    process write, or wait to.
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
    """Do the same in a job, which waits however many others write.

    No page waits for the thread of a job.
    """
    try:
        place = hashlib.sha256(os.fsencode(get_workspace(agent))).hexdigest()[:16]
    except MayNotWrite:  # then nothing is written
        place = agent.agent_id
    return locks.lock(f"rollback-{place}.lock")


def check_rollbacks() -> None:
    """Raise MayNotWrite unless rollbacks are on and this site may write into workspaces."""
    check_enabled()
    check_writes()


def check_enabled() -> None:
    """Raise MayNotWrite unless rollbacks are on."""
    if not configuration.is_on(ENABLED):
        raise MayNotWrite(_("Rollbacks are off: writeGuardianAuditing.enableRollback is off in the settings."))


def check_writes() -> None:
    """Raise MayNotWrite unless this site may write into workspaces."""
    if not settings.WORKSPACE_WRITES:
        raise MayNotWrite(
            _("This site does not write into workspaces. Set OPENCLAW_WEB_WORKSPACE_WRITES=1, or apply the patch.")
        )
