"""Folders that agents share: the owner of each file and of each index key."""

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
    """A folder with files of several agents.

    A file that was read before stays with its agent; for others the index decides.
    """

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
        """The agent that owns everything that no other agent owns."""
        return find_default_agent(self.agents).home_name

    def find_key_owner(self, key: str) -> str:
        """The agent that a session key names, or else the default agent."""
        parts = key.split(":", 2)
        agent_id = normalise_or_empty(parts[1]) if len(parts) == 3 and parts[0] == "agent" else ""
        own = (agent.home_name for agent in self.agents if normalise_or_empty(agent.home_name) == agent_id)
        return next(own, self.default) if agent_id else self.default

    def find_owner(self, file: FoundFile) -> str:
        """The agent that owns a file."""
        if file.path not in self._owners:
            self._owners[file.path] = self._decide_owner(file)
        return self._owners[file.path]

    def find_named_owner(self, entry: IndexEntry, file: str) -> str:
        """The agent whose file an entry names; empty when none is known."""
        names = {get_file_name(file), f"{entry.session_id}.jsonl"}
        return next((owner for path, owner in self._owners.items() if path.name in names), "")

    def _decide_owner(self, file):
        name = file.path.name
        for end in BESIDE_DATABASE:
            name = name.removesuffix(end)
        database = file.path.with_name(name)
        own = [agent.home_name for agent in self.agents if database in agent.databases]
        owner = own[0] if own else self._find_previous_owner(file)
        if owner in {agent.home_name for agent in self.agents}:
            return owner
        self._read_index()
        return self._find_named_agent(file) or self.default

    def _find_previous_owner(self, file):
        """The agent that had the file at the last import."""
        if self._claims is None:
            root = str(self.collection.home.root)
            claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=root)
            self._claims = dict(claims.values_list("agent_id", "path"))
            self._rows = {row.path: row for row in SkippedSource.objects.filter(root=root, kind=Kind.FILE)}
        agent_id = self.collection.book.find_agent(file.path)
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

    def _find_named_agent(self, file):
        """The agent by index, header or name; empty without one."""
        if owner := self._by_file.get(file.path.name):
            return owner
        hint = parse_name(file.path.name)
        by_name = self._find_session_owner(hint.session_id) or self._find_session_owner(
            file.path.name.partition(".")[0]
        )
        if find_skip_reason(file.path.name) or (self.collection.opted_out and by_name):
            return by_name
        head = self._read_head(file.path, is_packed=hint.is_packed)
        return self._find_session_owner(head.session_id) or self._find_header_owner(head) or by_name

    def _read_head(self, path, *, is_packed):
        try:
            with open_regular(self.collection.home.root, path) as opened:
                return read_head(opened, is_packed=is_packed)
        except NotReadable:
            return TranscriptHead(False)

    def _find_session_owner(self, session_id):
        known = self._claims.get(self.collection.book.find_session_agent(session_id), "") if session_id else ""
        return self._by_session.get(session_id, "") or known

    def _find_header_owner(self, head):
        """The agent that a header names, or the only one with the workspace of its conversation."""
        named = [
            agent for agent in self.agents if normalise_or_empty(agent.home_name) == normalise_or_empty(head.agent)
        ]
        cwd = os.path.normpath(head.cwd) if head.cwd else None
        with_workspace = [agent for agent in self.agents if cwd in (agent.written, str(agent.configured))]
        return next((matches[0].home_name for matches in (named, with_workspace) if len(matches) == 1), "")


def find_shared_folder(collection: Any, place: Path | None) -> SharedFolder | None:
    """The folder when several agents share it, else None."""
    if place is None or collection.places_of_agents[place] < 2:
        return None
    if place not in collection.shared:
        agents = [agent for agent in collection.home.agents if place in (*agent.session_folders, agent.agent_dir)]
        collection.shared[place] = SharedFolder(collection, place, agents)
    return collection.shared[place]


def list_own_files(collection: Any, home_agent: HomeAgent, notes: list[str]) -> FileListing:
    """List the files of an agent, without files of others in shared folders."""
    own, root = FileListing(), collection.home.root
    for place in find_places(home_agent):
        listing, shared = list_place(place, root, notes, collection.places), find_shared_folder(collection, place)
        if shared is not None:
            index = home_agent.index
            listing.files = [
                file for file in listing.files if file.path == index or _is_owned(shared, home_agent, file)
            ]
            listing.skipped = listing.skipped if shared.default == home_agent.home_name else []
        own.files += listing.files
        own.skipped += listing.skipped
    return own


def _is_owned(shared, home_agent, file):
    is_index = any(file.path == agent.index for agent in shared.agents)
    return not is_index and shared.find_owner(file) == home_agent.home_name


def filter_own_index(collection: Any, home_agent: HomeAgent, index: IndexFile) -> IndexFile:
    """The entries of a shared index that are about one agent."""
    shared = find_shared_folder(collection, home_agent.sessions)
    if shared is None:
        return index
    entries = [entry for entry in index.entries if shared.find_key_owner(entry.session_key) == home_agent.home_name]
    unusable = [key for key in index.unusable if shared.find_key_owner(key) == home_agent.home_name]
    return IndexFile(entries, unusable, index.problem)


def find_other_owners(collection: Any, home_agent: HomeAgent, entries: Iterable[IndexEntry]) -> dict[str, str]:
    """The owners of transcripts that entries of this agent name, by key."""
    shared = find_shared_folder(collection, home_agent.sessions)
    if shared is None:
        return {}
    owners = {key: shared.find_named_owner(entry, file) for entry in entries for key, file in entry.files.items()}
    return {key: owner for key, owner in owners.items() if owner not in ("", home_agent.home_name)}
