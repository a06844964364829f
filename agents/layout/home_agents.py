"""The agents of an OpenClaw home: who is there, and where the files of each are, by folders and configuration."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.pages.glyphs import escape_name

from ..homes import (
    AGENT_DATABASE,
    INDEX,
    Home,
    HomeAgent,
    NoHome,
    NotReadable,
    describe_undecodable,
    is_utf8_name,
    normalise_or_empty,
    open_regular,
    stat_regular,
)
from . import home_configuration, places
from .home_configuration import AgentEntry, HomeConfiguration
from .places import FolderState, Oddity, OddityReason, Place


def read_home(root: Path) -> Home:
    """The agents of the home at `root`. Raises NoHome when there are none."""
    try:
        is_there = root.is_dir()
    except OSError:
        is_there = False
    if not is_there:
        raise NoHome(_("There is no OpenClaw folder at %(path)s. Choose another location.") % {"path": root})
    home = Home(root)
    configured = _configured(home)
    folders = _folders(home)
    for name, entry in sorted(_roster(configured, folders).items()):
        agent = _agent(home, configured, name, entry, folders.get(name))
        if agent.sessions or agent.database or agent.workspace:
            home.agents.append(agent)
    _divide_databases(home)
    if not home.agents:
        sentence = _(
            "There are no OpenClaw agents in %(path)s (no agents/<name>/sessions and no "
            "agents/<name>/agent/openclaw-agent.sqlite)."
        ) % {"path": root}
        unread = [one.sentence for one in home.oddities if one.is_unread]
        raise NoHome(" ".join([sentence, *unread]))
    return home


def find_default_agent(agents: Sequence[HomeAgent]) -> HomeAgent:
    """The agent that has what belongs to no other one: main, else the default one, else the first."""
    ranked = (*(agent for agent in agents if agent.home_name == "main"), *(one for one in agents if one.is_default))
    return next(iter((*ranked, *agents)))


def _divide_databases(home):
    """A database that several agents would read is read for one of them."""
    for path in {path for agent in home.agents for path in agent.databases}:
        sharing = [agent for agent in home.agents if path in agent.databases]
        for agent in sharing:
            if agent is not find_default_agent(sharing):
                *others, last = [None, *(one for one in agent.databases if one != path)]
                place = home.agents.index(agent)
                home.agents[place] = replace(agent, database=last, more_databases=tuple(filter(None, others)))


def _folders(home) -> dict[str, Path]:
    """The folders of agents that may be read, by their names; what is odd about the others is said."""
    parent = home.root / "agents"
    state = places.read_folder_state(home.root, parent)
    home.add(places.build_oddity(state, parent), places.check_owner(home.root, parent))
    if state != FolderState.FOLDER:
        return {}
    folders = {}
    for folder in sorted(parent.iterdir()):
        state = places.read_folder_state(home.root, folder)
        if not is_utf8_name(folder.name):
            home.add(
                Oddity(OddityReason.NOT_UTF8, escape_name(str(folder)), describe_undecodable(parent, [folder.name]))
            )
        elif state == FolderState.FOLDER:
            home.add(places.check_owner(home.root, folder, folder.name))
            folders[folder.name] = folder
        elif state != FolderState.NO_FOLDER:  # a file beside the folders of agents is none
            home.add(places.build_oddity(state, folder, folder.name))
    return folders


def _roster(configured: HomeConfiguration, folders) -> dict[str, AgentEntry]:
    """Every agent by the name of its folder, else that of the configuration: OpenClaw spells ids in lower case."""
    entries = dict(configured.agents)
    roster = {name: entries.pop(name, None) for name in folders}
    of_ids = {normalise_or_empty(name): name for name in sorted(folders, reverse=True)}
    of_ids |= {name: name for name in folders}
    for name, entry in entries.items():
        place = of_ids.get(normalise_or_empty(name), name)
        roster[place] = roster.get(place) or entry
    return {name: entry or AgentEntry() for name, entry in roster.items()}


def _agent(home, configured, name, entry, folder) -> HomeAgent:
    agent_id = normalise_or_empty(name)
    usual = _place(home, folder / "sessions" if folder else None, name)
    index, sessions = _store(home, configured, name, agent_id)
    sessions = sessions or usual
    agent_dir = _named_folder(home, entry.agent_dir, name, agent_id, "agentDir")
    databases = _databases(home, name, index, agent_dir, folder)
    workspace, written = _workspace(home, configured, name, entry)
    return HomeAgent(
        name,
        sessions,
        workspace,
        folder,
        next(iter(databases), None),
        index=sessions / (index.name if index and sessions != usual else INDEX) if sessions else None,
        agent_dir=agent_dir,
        more_sessions=(usual,) if usual and usual != sessions else (),
        more_databases=tuple(databases[1:]),
        configured=workspace,
        written=written,
        is_default=agent_id == normalise_or_empty(configured.default_agent),
    )


def _place(home, folder, agent) -> Path | None:
    """A folder where it usually is, if it may be read."""
    if folder is None:
        return None
    state = places.read_folder_state(home.root, folder)
    home.add(places.build_oddity(state, folder, agent))
    if state != FolderState.FOLDER:
        return None
    home.add(places.check_owner(home.root, folder, agent))
    return folder


def _named_folder(home, written, agent, agent_id, what) -> Path | None:
    """A folder that the configuration names, where it is here."""
    if not written:
        return None
    wanted = places.expand_path(written, agent_id)
    if wanted is None:
        home.add(_relative(written, agent, what))
        return None
    return _kept(home, places.find_folder(home.root, wanted, agent))


def _kept(home, place: Place) -> Path | None:
    home.add(*place.oddities)
    return place.folder


def _relative(written, agent, what):
    sentence = _("%(what)s of the agent %(agent)s was not read: “%(path)s” is not an absolute path.")
    words = {"what": what, "agent": escape_name(agent), "path": escape_name(written)}
    return Oddity(OddityReason.RELATIVE, written, sentence % words, agent)


def _store(home, configured, agent, agent_id) -> tuple[Path | None, Path | None]:
    """The index that `session.store` names, and its folder where that is here."""
    if not configured.store:
        return None, None
    index = places.expand_path(configured.store, agent_id)
    if index is None:
        home.add(_relative(configured.store, agent, "session.store"))
        return None, None
    folder = _kept(home, places.find_folder(home.root, index.parent, agent))
    return (folder / index.name if folder else None), folder


def _databases(home, agent, index, agent_dir, folder) -> list[Path]:
    """The databases of an agent that are there, that of its present place first."""
    candidates = [agent_dir / AGENT_DATABASE] if agent_dir else []
    if index is not None:
        own = f"{AGENT_DATABASE.removesuffix('.sqlite')}.{normalise_or_empty(agent)}.sqlite"
        candidates += [index] if index.suffix == ".sqlite" else [index.with_name(own), index.with_name(AGENT_DATABASE)]
    candidates += [folder / "agent" / AGENT_DATABASE] if folder else []
    if folder:
        _place(home, folder / "agent", agent)
    databases = []
    for path in dict.fromkeys(candidates):
        if stat_regular(path):
            databases.append(path)
        elif places.is_link(path):
            home.add(places.build_oddity(FolderState.LINK, path, agent))
    return databases


def _workspace(home, configured, agent, entry) -> tuple[Path | None, str]:
    """The workspace that the configuration leads to, and its path as it is written there, spelled out."""
    agent_id = normalise_or_empty(agent)
    candidates = _implied(home.root, configured, agent, agent_id)
    if entry.workspace:
        wanted = places.expand_path(entry.workspace, agent_id)
        if wanted is None:
            home.add(_relative(entry.workspace, agent, "workspace"))
            return None, ""
        candidates = [wanted]
    place = places.find_first_folder(home.root, candidates, agent, is_workspace=True)
    if not entry.workspace and place.folder is None:
        place = Place(None, tuple(one for one in place.oddities if one.why != OddityReason.ABSENT))
    return _kept(home, place), str(candidates[0])


def _implied(root, configured, agent, agent_id) -> list[Path]:
    """Where the workspace of an agent may be whose entry names none, the likeliest place first."""
    shared = places.expand_path(configured.workspace, agent_id) if configured.workspace else None
    own = [root / f"workspace-{agent}", root / f"workspace-{agent_id}"]
    is_listed = any(normalise_or_empty(name) == agent_id for name in configured.agents)
    is_default = agent_id == (normalise_or_empty(configured.default_agent) if is_listed else "main")
    usual = ([shared] if shared else []) + [root / "workspace"]
    below = [shared / agent_id] if shared and configured.is_by_id and len(configured.agents) > 1 else []
    if is_default:
        return [*below, *usual, *own]
    return [*below, *own, *([root / "workspace"] if agent_id == "main" else [])]


def follow_reported_workspace(home: Home, agent: HomeAgent, reported: str) -> HomeAgent:
    """The agent with the workspace that the newest report of a prompt names, which wins over the configured one.

    Where the two differ, or the reported one is not there, that is said; then the configured one is read.
    """
    if not reported:
        return agent
    home.forget(agent.home_name, OddityReason.DIFFERS)
    wanted = places.expand_path(reported, normalise_or_empty(agent.home_name))
    place = places.find_folder(home.root, wanted, agent.home_name, is_workspace=True) if wanted else Place(None)
    home.add(*(one for one in place.oddities if one.is_unread))
    followed = replace(
        agent, workspace=place.folder or agent.configured, reported=reported, is_reported=bool(place.folder)
    )
    if agent.configured and not (place.folder and _is_same(place.folder, agent.configured)):
        home.add(_differing(followed))
    return followed


def check_memory_folder(home: Home, agent: HomeAgent) -> None:
    """Say what is odd about the folder of daily notes in the workspace that is read."""
    if agent.workspace:
        _place(home, agent.workspace / "memory", agent.home_name)


def _differing(agent):
    words = {"agent": escape_name(agent.home_name), "reported": escape_name(agent.reported)}
    words |= {"configured": escape_name(str(agent.configured))}
    if agent.is_reported:
        sentence = _(
            "The newest prompt of the agent %(agent)s came from the workspace %(reported)s, but the configuration "
            "leads to %(configured)s. The first one was read. Write it into openclaw.json as the workspace of the "
            "agent."
        )
    else:
        sentence = _(
            "The newest prompt of the agent %(agent)s came from the workspace %(reported)s, which is not there. "
            "%(configured)s was read, and nothing is written into it."
        )
    return Oddity(OddityReason.DIFFERS, agent.reported, sentence % words, agent.home_name)


def _is_same(first: Path, second: Path) -> bool:
    with suppress(OSError):
        return first.samefile(second)
    return False


def _configured(home) -> HomeConfiguration:
    """What the configuration says of agents and their places."""
    if not os.path.lexists(home.root / home_configuration.NAME):
        home.notes.append(_("There is no openclaw.json: agents and workspaces were found by their folders."))
        return HomeConfiguration()

    def open_bytes(path, most):
        try:
            with open_regular(home.root, path) as file:
                return file.read(most)
        except NotReadable as exc:
            raise home_configuration.NotUsable(str(exc)) from None

    configured = home_configuration.read_configuration(home.root, open_bytes)
    home.version = configured.version
    home.problems += configured.problems
    home.notes += configured.problems
    return configured
