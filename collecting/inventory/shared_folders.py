"""Folders that several agents share: whose each file is, and whose each key of their index."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.homes import HomeAgent, NotReadable, normalise_or_empty, open_regular
from agents.layout.home_agents import find_default_agent
from agents.models import CollectorSource, SkippedSource
from agents.skipped_sources import Kind, is_unchanged
from ledger.collectors.session_index import IndexEntry, get_file_name

from .file_heads import TranscriptHead, read_head
from .file_names import find_skip_reason, parse_name
from .folders import FileListing, FoundFile, find_places, get_book_name, list_place
from .indexes import IndexFile, read_index

BESIDE_DATABASE = ("-wal", "-shm", "-journal")


@dataclass(slots=True)
class SharedFolder:
    """A folder with files of several agents. What was read once stays with its agent; else the index decides."""

    collection: Any
    place: Path
    agents: list[HomeAgent]
    _owners: dict[Path, str] = field(default_factory=dict)  # home names
    _claims: dict[str, str] | None = None  # agents here -> home names
    _rows: dict[str, SkippedSource] = field(default_factory=dict)
    _by_file: dict[str, str] = field(default_factory=dict)
    _by_session: dict[str, str] | None = None

    @property
    def default(self) -> str:
        """The agent that has what no other one has."""
        return find_default_agent(self.agents).home_name

    def find_key_owner(self, key: str) -> str:
        """The agent that a session key names; the default one where it names none of these."""
        parts = key.split(":", 2)
        agent_id = normalise_or_empty(parts[1]) if len(parts) == 3 and parts[0] == "agent" else ""
        own = (agent.home_name for agent in self.agents if normalise_or_empty(agent.home_name) == agent_id)
        return next(own, self.default) if agent_id else self.default

    def find_owner(self, file: FoundFile) -> str:
        """The agent whose file it is."""
        if file.path not in self._owners:
            self._owners[file.path] = self._owner(file)
        return self._owners[file.path]

    def find_named_owner(self, entry: IndexEntry, file: str) -> str:
        """The agent whose file an entry names; empty where none is known."""
        names = {get_file_name(file), f"{entry.session_id}.jsonl"}
        return next((owner for path, owner in self._owners.items() if path.name in names), "")

    def _owner(self, file):
        name = file.path.name
        for end in BESIDE_DATABASE:
            name = name.removesuffix(end)
        database = file.path.with_name(name)
        own = [agent.home_name for agent in self.agents if database in agent.databases]
        owner = own[0] if own else self._remembered(file)
        if owner in {agent.home_name for agent in self.agents}:
            return owner
        self._read_index()
        return self._told(file) or self.default

    def _remembered(self, file):
        """The agent that had the file at the last import."""
        if self._claims is None:
            root = str(self.collection.home.root)
            claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=root)
            self._claims = dict(claims.values_list("agent_id", "path"))
            self._rows = {row.path: row for row in SkippedSource.objects.filter(root=root, kind=Kind.FILE)}
        agent_id = self.collection.book.agent_of(file.path)
        row = self._rows.get(get_book_name(self.collection.home.root, file.path))
        if not agent_id and row is not None and is_unchanged(row, file.stat):
            agent_id = row.agent_id
        return self._claims.get(agent_id, "")

    def _read_index(self):
        if self._by_session is not None:
            return
        self._by_session = {}
        for agent in self.agents:
            if agent.index is None or agent.index.parent != self.place:
                continue
            for entry in read_index(self.collection, agent).entries:
                owner = self.find_key_owner(entry.session_key)
                self._by_session.setdefault(entry.session_id, owner)
                self._by_file |= {get_file_name(path): owner for path in entry.files.values() if path}

    def _told(self, file):
        """The agent that the index, the header or the name leads to; empty for none."""
        if owner := self._by_file.get(file.path.name):
            return owner
        hint = parse_name(file.path.name)
        by_name = self._of_session(hint.session_id) or self._of_session(file.path.name.partition(".")[0])
        if find_skip_reason(file.path.name) or (self.collection.opted_out and by_name):
            return by_name
        head = self._head(file.path, is_packed=hint.is_packed)
        return self._of_session(head.session_id) or self._of_header(head) or by_name

    def _head(self, path, *, is_packed):
        try:
            with open_regular(self.collection.home.root, path) as opened:
                return read_head(opened, is_packed=is_packed)
        except NotReadable:
            return TranscriptHead(False)

    def _of_session(self, session_id):
        known = self._claims.get(self.collection.book.agent_of_session(session_id), "") if session_id else ""
        return self._by_session.get(session_id, "") or known

    def _of_header(self, head):
        """The agent that a header names, or whose workspace alone its conversation was in."""
        named = [one for one in self.agents if normalise_or_empty(one.home_name) == normalise_or_empty(head.agent)]
        cwd = os.path.normpath(head.cwd) if head.cwd else None
        there = [one for one in self.agents if cwd in (one.written, str(one.configured))]
        return next((some[0].home_name for some in (named, there) if len(some) == 1), "")


def find_shared_folder(collection: Any, place: Path | None) -> SharedFolder | None:
    """The folder as one that agents share; None for one of a single agent."""
    if place is None:
        return None
    if place not in collection.shared:
        agents = [agent for agent in collection.home.agents if place in (*agent.session_folders, agent.agent_dir)]
        collection.shared[place] = SharedFolder(collection, place, agents) if len(agents) > 1 else None
    return collection.shared[place]


def list_own_files(collection: Any, found: HomeAgent, notes: list[str]) -> FileListing:
    """Every file below the places of an agent, without those of others in folders that it shares with them."""
    own, root = FileListing(), collection.home.root
    apart = {place for agent in collection.home.agents for part in agent.parts for place in find_places(part)}
    for place in find_places(found):
        listing, shared = list_place(place, root, notes, apart), find_shared_folder(collection, place)
        if shared is not None:
            index = found.index
            listing.files = [file for file in listing.files if file.path == index or _is_of(shared, found, file)]
            listing.skipped = listing.skipped if shared.default == found.home_name else []
        own.files += listing.files
        own.skipped += listing.skipped
    return own


def _is_of(shared, found, file):
    is_index = any(file.path == agent.index for agent in shared.agents)
    return not is_index and shared.owner_of(file) == found.home_name


def filter_own_index(collection: Any, found: HomeAgent, index: IndexFile) -> IndexFile:
    """What an index says of the sessions of one agent, where others have it as well."""
    shared = find_shared_folder(collection, found.sessions)
    if shared is None:
        return index
    entries = [entry for entry in index.entries if shared.owner_of_key(entry.session_key) == found.home_name]
    unusable = [key for key in index.unusable if shared.owner_of_key(key) == found.home_name]
    return IndexFile(entries, unusable, index.problem)


def find_other_owners(collection: Any, found: HomeAgent, entries: Iterable[IndexEntry]) -> dict[str, str]:
    """Key -> the agent that has the transcript which an entry of this agent names."""
    shared = find_shared_folder(collection, found.sessions)
    if shared is None:
        return {}
    owners = {key: shared.owner_of_named(entry, file) for entry in entries for key, file in entry.files.items()}
    return {key: owner for key, owner in owners.items() if owner not in ("", found.home_name)}
