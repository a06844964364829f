"""Finds the agents of an OpenClaw home and their files, by folders and configuration."""

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
    UnreadableHome,
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
    """Return the agents of the home at `root`. Raises NoHome when there are none."""
    if problem := places.find_access_problem(root):
        raise UnreadableHome(problem)
    try:
        is_there = root.is_dir()
    except OSError:
        is_there = False
    if not is_there:
        raise NoHome(_("There is no OpenClaw folder at %(path)s. Choose another location.") % {"path": root})
    home = Home(root)
    configured = _read_configuration(home)
    folders = _find_folders(home)
    for name, entry in sorted(_build_roster(configured, folders).items()):
        agent = _build_agent(home, configured, name, entry, folders.get(name))
        if agent.sessions or agent.database or agent.workspace:
            home.agents.append(agent)
    _divide_databases(home)
    if not home.agents:
        sentence = _(
            "There are no OpenClaw agents in %(path)s (no agents/<name>/sessions and no "
            "agents/<name>/agent/openclaw-agent.sqlite)."
        ) % {"path": root}
        unread = [oddity.sentence for oddity in home.oddities if oddity.is_unread]
        raise NoHome(" ".join([sentence, *unread]))
    return home


def find_default_agent(agents: Sequence[HomeAgent]) -> HomeAgent:
    """Return the agent that gets files of no particular agent.

    That is main, else the default agent, else the first.
    """
    ranked = (
        *(agent for agent in agents if agent.home_name == "main"),
        *(agent for agent in agents if agent.is_default),
    )
    return next(iter((*ranked, *agents)))


def _divide_databases(home):
    """Assign a database that several agents would read to one of them."""
    for path in {path for agent in home.agents for path in agent.databases}:
        sharing = [agent for agent in home.agents if path in agent.databases]
        for agent in sharing:
            if agent is not find_default_agent(sharing):
                *others, last = [None, *(database for database in agent.databases if database != path)]
                index = home.agents.index(agent)
                home.agents[index] = replace(agent, database=last, more_databases=tuple(filter(None, others)))


def _find_folders(home) -> dict[str, Path]:
    """Return the readable folders of agents, by name; notes oddities of the others."""
    parent = home.root / "agents"
    state = places.read_folder_state(home.root, parent)
    home.add_oddities(places.build_oddity(state, parent), places.check_owner(home.root, parent))
    if state != FolderState.FOLDER:
        return {}
    folders = {}
    for folder in sorted(parent.iterdir()):
        state = places.read_folder_state(home.root, folder)
        if not is_utf8_name(folder.name):
            home.add_oddities(
                Oddity(OddityReason.NOT_UTF8, escape_name(str(folder)), describe_undecodable(parent, [folder.name]))
            )
        elif state == FolderState.FOLDER:
            home.add_oddities(places.check_owner(home.root, folder, folder.name))
            folders[folder.name] = folder
        elif state != FolderState.NO_FOLDER:  # a file beside the folders of agents is not an agent
            home.add_oddities(places.build_oddity(state, folder, folder.name))
    return folders


def _build_roster(configured: HomeConfiguration, folders) -> dict[str, AgentEntry]:
    """Return every agent by the name of its folder, or else by its configured name.

    OpenClaw spells ids in lower case.
    """
    entries = dict(configured.agents)
    roster = {name: entries.pop(name, None) for name in folders}
    of_ids = {normalise_or_empty(name): name for name in sorted(folders, reverse=True)}
    of_ids |= {name: name for name in folders}
    for name, entry in entries.items():
        roster_name = of_ids.get(normalise_or_empty(name), name)
        roster[roster_name] = roster.get(roster_name) or entry
    return {name: entry or AgentEntry() for name, entry in roster.items()}


def _build_agent(home, configured, name, entry, folder) -> HomeAgent:
    agent_id = normalise_or_empty(name)
    usual = _find_usual_folder(home, folder / "sessions" if folder else None, name)
    index, sessions = _find_index(home, configured, name, agent_id)
    sessions = sessions or usual
    agent_dir = _find_named_folder(home, entry.agent_dir, name, agent_id, "agentDir")
    databases = _find_databases(home, name, index, agent_dir, folder)
    workspace, written = _find_workspace(home, configured, name, entry)
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


def _find_usual_folder(home, folder, agent) -> Path | None:
    """Return a folder at its usual place, if it may be read."""
    if folder is None:
        return None
    state = places.read_folder_state(home.root, folder)
    home.add_oddities(places.build_oddity(state, folder, agent))
    if state != FolderState.FOLDER:
        return None
    home.add_oddities(places.check_owner(home.root, folder, agent))
    return folder


def _find_named_folder(home, written, agent, agent_id, setting) -> Path | None:
    """Return a folder that the configuration names, if it exists here."""
    if not written:
        return None
    expanded = places.expand_path(written, agent_id)
    if expanded is None:
        home.add_oddities(_build_relative_oddity(written, agent, setting))
        return None
    return _note_oddities(home, places.find_folder(home.root, expanded, agent))


def _note_oddities(home, place: Place) -> Path | None:
    home.add_oddities(*place.oddities)
    return place.folder


def _build_relative_oddity(written, agent, setting):
    sentence = _("%(what)s of the agent %(agent)s was not read: “%(path)s” is not an absolute path.")
    words = {"what": setting, "agent": escape_name(agent), "path": escape_name(written)}
    return Oddity(OddityReason.RELATIVE, written, sentence % words, agent)


def _find_index(home, configured, agent, agent_id) -> tuple[Path | None, Path | None]:
    """Return the index of `session.store`, and its folder, if it exists here."""
    if not configured.store:
        return None, None
    index = places.expand_path(configured.store, agent_id)
    if index is None:
        home.add_oddities(_build_relative_oddity(configured.store, agent, "session.store"))
        return None, None
    folder = _note_oddities(home, places.find_folder(home.root, index.parent, agent))
    return (folder / index.name if folder else None), folder


def _find_databases(home, agent, index, agent_dir, folder) -> list[Path]:
    """Return the existing databases of an agent, the current one first."""
    candidates = [agent_dir / AGENT_DATABASE] if agent_dir else []
    if index is not None:
        own = f"{AGENT_DATABASE.removesuffix('.sqlite')}.{normalise_or_empty(agent)}.sqlite"
        candidates += [index] if index.suffix == ".sqlite" else [index.with_name(own), index.with_name(AGENT_DATABASE)]
    candidates += [folder / "agent" / AGENT_DATABASE] if folder else []
    if folder:
        _find_usual_folder(home, folder / "agent", agent)
    databases = []
    for path in dict.fromkeys(candidates):
        if stat_regular(path):
            databases.append(path)
        elif places.is_link(path):
            home.add_oddities(places.build_oddity(FolderState.LINK, path, agent))
    return databases


def _find_workspace(home, configured, agent, entry) -> tuple[Path | None, str]:
    """Return the configured workspace of an agent, and its path as written, expanded."""
    agent_id = normalise_or_empty(agent)
    candidates = _list_implied(home.root, configured, agent, agent_id)
    if entry.workspace:
        expanded = places.expand_path(entry.workspace, agent_id)
        if expanded is None:
            home.add_oddities(_build_relative_oddity(entry.workspace, agent, "workspace"))
            return None, ""
        candidates = [expanded]
    place = places.find_first_folder(home.root, candidates, agent, is_workspace=True)
    if not entry.workspace and place.folder is None:
        place = Place(None, tuple(oddity for oddity in place.oddities if oddity.why != OddityReason.ABSENT))
    return _note_oddities(home, place), str(candidates[0])


def _list_implied(root, configured, agent, agent_id) -> list[Path]:
    """Return possible workspaces of an agent without a configured one, likeliest first."""
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
    """Return the agent with the workspace of its newest report of a prompt.

    The reported workspace is read before the configured one, which is read for files that the other has not.

    An oddity is noted when the two differ, or when the reported one is missing; only the configured one is then read.
    """
    if not reported:
        return agent
    home.forget_oddities(agent.home_name, OddityReason.DIFFERS)
    expanded = places.expand_path(reported, normalise_or_empty(agent.home_name))
    place = places.find_folder(home.root, expanded, agent.home_name, is_workspace=True) if expanded else Place(None)
    home.add_oddities(*(oddity for oddity in place.oddities if oddity.is_unread))
    columns = {"reported": reported, "is_reported": bool(place.folder), "more_workspaces": ()}
    followed = replace(agent, workspace=place.folder or agent.configured, **columns)
    if agent.configured and not (place.folder and _is_same(place.folder, agent.configured)):
        words = describe_difference(agent.home_name, reported, str(agent.configured), is_reported=followed.is_reported)
        home.add_oddities(Oddity(OddityReason.DIFFERS, reported, words, agent.home_name))
        return replace(followed, more_workspaces=(agent.configured,) if place.folder else ())
    return followed


def check_memory_folder(home: Home, agent: HomeAgent) -> None:
    """Note oddities of the folder of daily notes in the agent's workspace."""
    if agent.workspace:
        _find_usual_folder(home, agent.workspace / "memory", agent.home_name)


def describe_difference(agent: str, reported: str, configured: str, *, is_reported: bool) -> str:
    """Say that the newest prompt of an agent came from another workspace than the configured one."""
    words = {"agent": escape_name(agent), "reported": escape_name(reported), "configured": escape_name(configured)}
    if is_reported:
        sentence = _(
            "The newest prompt of the agent %(agent)s came from the workspace %(reported)s, but the configuration "
            "leads to %(configured)s. Files that the first one does not have are read from the second one, and nothing "
            "is written there. Write the right one into openclaw.json as the workspace of the agent."
        )
    else:
        sentence = _(
            "The newest prompt of the agent %(agent)s came from the workspace %(reported)s, which is not there. "
            "%(configured)s was read, and nothing is written into it."
        )
    return sentence % words


def _is_same(first: Path, second: Path) -> bool:
    with suppress(OSError):
        return first.samefile(second)
    return False


def _read_configuration(home) -> HomeConfiguration:
    """Return the agents and places of the configuration."""
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
    home.configuration, home.version = configured, configured.version
    home.problems += configured.problems
    home.notes += configured.problems
    return configured
