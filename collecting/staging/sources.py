"""Lists the files of an OpenClaw home that an import may read, by the lists of the import itself."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from django.utils.translation import gettext as _

from agents.homes import STATE_DATABASE, HomeAgent, NotReadable, is_utf8_name, list_names, open_regular, stat_regular
from agents.layout import home_configuration
from agents.layout.home_configuration import HomeConfiguration
from agents.layout.places import ELSEWHERE
from agents.skipped_sources import Reason
from agents.sources import SourceBook
from episodes.collectors import openclaw_mem
from gate.collectors import reflection_db as gate_database
from guardian.collectors import reflection_db as guardian_database
from guardian.collectors import workspace as workspaces
from ledger import prompt_workspaces
from ledger.collectors.database_tables import AGENT, MEMORY, PROVENANCE, STATE, Extract, Tables

from .. import episode_import
from ..inventory.file_heads import read_head
from ..inventory.indexes import find_index_path, read_index
from ..inventory.transcripts import Identity, find_candidates, identify_transcript
from ..inventory.words import REASON_WORDS
from ..stages import extras, mem_store, schedules, writes

# Files of an agent's folders that an import would have read, had it been possible.
NAMED = (Reason.LINK, Reason.UNREADABLE, Reason.ODD_NAME, Reason.TOO_MANY, Reason.SECRET)
REFLECTION: Tables = {**gate_database.TABLES, **guardian_database.TABLES}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to stage. It is opened below `root`, as its reader does; `tables` are those of a database.

    `content` is that of a file that is written anew. `agent` is its name in the home, `session_id` is empty for a file
    that is of no session.
    """

    path: Path
    root: Path
    tables: Tables | None = None
    extracts: tuple[Extract, ...] = ()
    content: bytes | None = None
    agent: str = ""
    session_id: str = ""
    is_transcript: bool = False
    is_index: bool = False  # of sessions
    is_archive: bool = False  # a transcript that the database of its agent names
    is_unattributed: bool = False  # it holds words of people, and nobody can tell whose


@dataclass(slots=True)
class Inventory:
    """The files of a home by their names in the copy, its folders there, and what is withheld, with sentences."""

    home: Any
    files: dict[str, Source] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    withheld: dict[str, str] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        """Add a file that is there."""
        if is_utf8_name(str(source.path)):
            self.files.setdefault(get_staged_name(self.home.root, source.path), source)

    def note(self, folder: Path, notes: list[str]) -> None:
        """Note sentences about files of a folder that are not read."""
        if notes:
            self.withheld[get_staged_name(self.home.root, folder)] = " ".join(notes)

    def add_all(self, root: Path, *paths: Path, **facts: Any) -> None:
        """Add those of these files that are there."""
        for path in paths:
            if os.path.lexists(path):
                self.add(Source(path, root, **facts))


class UnreadBook(SourceBook):
    """A book of sources in which nothing was read yet, without a database."""

    def _load(self, **_kinds):
        return {}


def get_staged_name(root: Path, path: Path) -> str:
    """The name of a file or folder in the copy; what is not below the home is in a folder of its own."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return PurePath(ELSEWHERE, *path.parts[1:]).as_posix()


def list_sources(collection: Any, is_known: Callable[[str, Any], bool]) -> Inventory:
    """List the files of a home.

    `is_known` tells of a name and a stat whether the file was staged as a transcript already: it is not opened then.
    """
    home = collection.home
    inventory = Inventory(home)
    if home.configuration is not None:
        content = build_configuration(home.configuration)
        inventory.files[home_configuration.NAME] = Source(
            home.root / home_configuration.NAME, home.root, content=content
        )
    for agent in home.agents:
        for part in agent.parts:
            _add_sessions(collection, part, inventory, is_known)
        inventory.add_all(home.root, *agent.databases, tables=AGENT, agent=agent.home_name)
        inventory.add_all(home.root, home.root / extras.MEMORY_FOLDER / f"{agent.home_name}.sqlite", tables=MEMORY)
        for workspace in agent.workspaces:
            notes: list[str] = []
            for entry in workspaces.find_entries([workspace], notes):
                inventory.add(Source(entry.path, entry.workspace))
            inventory.note(workspace, notes)
        for folder in extras.find_bundles(agent.workspace, home.notes):
            paths = (folder / name for name in (extras.MANIFEST, extras.EVENTS, *extras.PARTS))
            inventory.add_all(agent.workspace, *paths, is_unattributed=True)
        inventory.folders |= {get_staged_name(home.root, place) for place in find_places(agent)}
    own_workspaces = {agent.workspace for agent in home.agents if agent.workspace}
    for workspace in (*sorted(own_workspaces), *writes.find_other_workspaces(home)):
        own = workspace / writes.OWN
        inventory.add_all(workspace, own / writes.WRITTEN, is_unattributed=True)
        inventory.add_all(workspace, own / writes.DATABASE, tables=REFLECTION, is_unattributed=True)
    _add_home_files(collection, inventory)
    for oddity in home.oddities:
        if oddity.is_unread:
            inventory.withheld[oddity.path] = oddity.sentence
    return inventory


def find_places(agent: HomeAgent) -> Iterator[Path]:
    """Every folder in which an import looks for files of an agent."""
    yield from filter(None, (agent.folder, agent.agent_dir, *agent.session_folders, *agent.workspaces))


def build_configuration(configured: HomeConfiguration) -> bytes:
    """A configuration with agents and their places alone; the folder of the person is written out."""
    entries = []
    for name, entry in configured.agents.items():
        places = {"workspace": _expand(entry.workspace), "agentDir": _expand(entry.agent_dir)}
        values = {"id": name, **places, "default": entry.is_default or None}
        entries.append({key: value for key, value in values.items() if value is not None})
    section: dict[str, Any] = {"list": entries} if entries else {}
    if configured.workspace:
        section["defaults"] = {"workspace": _expand(configured.workspace)}
    if configured.is_by_id and not configured.version:
        section["ownership"] = {}
    config: dict[str, Any] = {"agents": section}
    if configured.store:
        config["session"] = {"store": _expand(configured.store)}
    if configured.version:
        config["meta"] = {"lastTouchedVersion": configured.version}
    return json.dumps(config, ensure_ascii=False, indent=1).encode()


def _expand(path):
    return os.path.expanduser(path) if path else path  # noqa: PTH111 - keeps what is no absolute path as it is


def _add_sessions(collection, part, inventory, is_known):
    root, candidates = collection.home.root, find_candidates(collection, part)
    inventory.withheld |= {
        item.path: f"{REASON_WORDS[Reason(item.reason)]}{f': {item.detail}' if item.detail else ''}."
        for item in candidates.skipped
        if item.reason in NAMED
    }
    cold = [root / item.path for item in candidates.skipped if item.reason == Reason.COLD]
    inventory.add_all(root, *cold, is_archive=True)
    for path in candidates.trajectories:
        inventory.add(Source(path, root, agent=part.home_name, session_id=extras.get_session_id(path)))
    _add_index(collection, part, inventory, is_known)
    identity = None
    for file in candidates.transcripts:
        name = get_staged_name(root, file.path)
        if not is_known(name, file.stat):
            identity = identity or Identity(
                prompt_workspaces.read_entries(collection.home, part, collection.copies), part.sessions
            )
            if not _is_transcript(root, file, identity, inventory):
                continue
        facts = {"agent": part.home_name, "session_id": file.session_id, "is_transcript": True}
        inventory.add(Source(file.path, root, **facts))


def _add_index(collection, part, inventory, is_known):
    """Add a session index. The configuration may name any file as one: what has no entry is not staged."""
    path = find_index_path(part)
    if path is None or path in part.databases:
        return
    name, stat = get_staged_name(collection.home.root, path), stat_regular(path)
    if (stat and is_known(name, stat)) or (index := read_index(collection, part)).entries:
        inventory.add(Source(path, collection.home.root, is_index=True))
    else:
        inventory.withheld[name] = f"{index.problem}." if index.problem else _("It has no sessions.")


def _is_transcript(root, file, identity, inventory):
    """Whether a file is a transcript by its name and first lines."""
    try:
        with open_regular(root, file.path) as opened:
            return identify_transcript(file, read_head(opened, is_packed=file.is_packed), identity, file.path.name)
    except NotReadable as exc:
        inventory.withheld[get_staged_name(root, file.path)] = f"{exc}."
        return False


def _add_home_files(collection, inventory):
    home = collection.home
    inventory.add_all(home.root, *(home.root / name for name in schedules.WHOLE_FILES.values()))
    runs = home.root / "cron" / "runs"
    names = [name for name in list_names(runs, home.notes) if name.endswith((".jsonl", schedules.MIGRATED_SUFFIX))]
    inventory.add_all(home.root, *(runs / name for name in names))
    state = home.root / STATE_DATABASE
    if stat_regular(state):
        inventory.add(Source(state, home.root, tables=STATE, extracts=(PROVENANCE,)))
    ledger = home.root.joinpath(*episode_import.PLACE)
    if stat_regular(ledger):
        inventory.add(Source(ledger, home.root, tables=openclaw_mem.TABLES))
    store = mem_store.find_store(collection, ())
    for content in store.contents() if store else ():
        if not store.is_withheld(content):
            inventory.add_all(store.root, *content.files)
