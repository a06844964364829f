"""What of an OpenClaw home is a source: every file that a collect reads, with its state, found without opening one."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from agents.homes import STATE_DATABASE, Home, HomeAgent, list_names, stat_regular
from agents.layout.home_agents import check_memory_folder, follow_reported_workspace
from agents.layout.places import HARMLESS
from agents.models import Agent, CollectorSource
from agents.skipped_sources import find_skipped
from collecting.inventory.transcripts import find_sources
from collecting.stages import extras, mem_store, source_databases
from collecting.stages.home_state import MIGRATED_SUFFIX
from guardian.collectors import workspace as workspaces
from ledger import prompt_workspaces
from ledger.models import Session

from ..findings import FINDING, NOTE, Finding

Kind = CollectorSource.Kind
NEW, CHANGED, UNCHANGED, LEFT = "new", "changed", "unchanged", "left"
TRAJECTORY, LEFTOVER = "trajectory", "leftover"
UNDONE, OPTED_OUT = "undone", "opted_out"
# What a source becomes, mainly: `target_table` of its row.
TARGETS = {
    Kind.TRANSCRIPT: "transcript_events",
    TRAJECTORY: "trajectory_events",
    LEFTOVER: "transcript_events",
    Kind.SESSION_INDEX: "sessions",
    Kind.CRON_JOBS: "cron_jobs",
    Kind.CRON_RUNS: "cron_run_logs",
    Kind.SUBAGENT_RUNS: "subagent_runs",
    Kind.WORKSPACE_FILE: "file_snapshots",
    Kind.DATABASE: "transcript_events",
    Kind.ARTIFACT: "artifacts",
}
# What may be moved or removed once it is imported: JSONL and JSON whose whole content is in the store.
LEGACY = frozenset({Kind.TRANSCRIPT, LEFTOVER, Kind.SESSION_INDEX, Kind.CRON_JOBS, Kind.CRON_RUNS, Kind.SUBAGENT_RUNS})


@dataclass(slots=True)
class Source:
    """One file. `state` says what a collect would do with it, `why` the reason when it is left."""

    kind: str
    file: Path
    name: str
    stat: os.stat_result
    state: str
    agent: str = ""
    home_agent: str = ""
    why: str = ""
    session_id: str = ""
    session_state: str = ""
    target: str = ""
    # Filled in by looking inside.
    new: Counter[str] = field(default_factory=Counter)  # rows that a collect would add, by table
    kinds: Counter[str] = field(default_factory=Counter)  # new records by kind
    lost: Counter[str] = field(default_factory=Counter)  # rows by table that were read from it and are gone
    rejected: int = 0
    version: str = ""
    skipped_tables: list[dict[str, str]] | None = None
    unread: dict[str, Any] | None = (
        None  # of a database that was opened: ledger.collectors.database_schemas.UnreadParts
    )
    problem: str = ""
    content: mem_store.Content | None = None  # of an artifact

    @property
    def is_to_read(self) -> bool:
        return self.state in (NEW, CHANGED)

    @property
    def records(self) -> int:
        """How many rows are new: of the state database all, else those of its target."""
        return self.new.total() if self.target == "task_runs" else self.new[self.target]

    @property
    def size(self) -> int:
        return source_databases.get_copy_size(self.file) if self.kind == Kind.DATABASE else self.stat.st_size

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.name,
            "kind": str(self.kind),
            "agent": self.agent,
            "target": self.target,
            "state": self.state,
            "why": self.why,
            "bytes": self.size,
            "version": self.version,
            "records": self.records,
            "new": dict(sorted(self.new.items())),
            "kinds": dict(sorted(self.kinds.items())),
            "rejected": self.rejected,
            "problem": self.problem,
        }


def find_agent_sources(collection: Any, found: HomeAgent, agent_id: str) -> Iterator[Source]:
    """Every source of one agent, those of its former places first."""
    for part in found.parts:
        yield from _of_part(collection, part, agent_id)
    about = {"agent": agent_id, "home_agent": found.home_name}
    memory = collection.home.root / "memory" / f"{found.home_name}.sqlite"
    yield from _database(collection, memory, "indexed_files", about)
    if found.workspace:
        for entry in workspaces.find_entries(found.workspace, collection.home.notes):
            yield from _one(collection, Kind.WORKSPACE_FILE, entry.path, **about)


def _of_part(collection, found, agent_id) -> Iterator[Source]:
    about = {"agent": agent_id, "home_agent": found.home_name}
    notes = collection.home.notes
    ignored = collection.ignored.get(agent_id, frozenset())
    if found.index:
        yield from _one(collection, Kind.SESSION_INDEX, found.index, **about)
    files = list(find_sources(collection, found, find_skipped(collection.home.root, agent_id)))
    for file in files:
        if not file.is_imported:
            yield _transcript(collection, file, ignored, **about)
    for file in filter(attrgetter("is_imported"), files):
        source = _source(collection, Kind.TRANSCRIPT, file.path, file.stat, session_id=file.session_id, **about)
        source.kind, source.session_state = LEFTOVER, file.state
        if file.session_id in ignored:
            source.state, source.why = LEFT, UNDONE
        elif source.is_to_read and not collection.include_deleted:
            source.state, source.why = LEFT, "imported"  # with it, the database says whether it has lost this one
        yield source
    for path in extras.find_trajectories(found.sessions, notes):
        for source in _one(collection, Kind.TRANSCRIPT, path, **about):
            source.kind, source.target, source.session_id = TRAJECTORY, TARGETS[TRAJECTORY], extras.get_session_id(path)
            if source.session_id in ignored:
                source.state, source.why = LEFT, UNDONE
            yield source
    if found.database:
        yield from _database(collection, found.database, "transcript_events", about)


def find_home_sources(collection: Any, agents: Iterable[str]) -> Iterator[Source]:
    """Every source that belongs to a home as a whole; `agents` are those it has here."""
    root = collection.home.root
    yield from _one(collection, Kind.CRON_JOBS, root / "cron" / "jobs.json")
    yield from _one(collection, Kind.SUBAGENT_RUNS, root / "subagents" / "runs.json")
    folder = root / "cron" / "runs"
    for name in list_names(folder, collection.home.notes):
        if name.endswith((".jsonl", MIGRATED_SUFFIX)):
            yield from _one(collection, Kind.CRON_RUNS, folder / name)
    yield from _database(collection, root / STATE_DATABASE, "task_runs", {})
    if store := mem_store.find_store(collection, agents):
        with suppress(OSError):  # a folder that goes while it is listed
            yield from (_content(store, content) for content in store.contents())


def _content(store, content):
    source = _source_of(store.book, Kind.ARTIFACT, content.path, content.stat)
    source.content = content
    if store.is_known(content):
        source.state = UNCHANGED
    elif store.is_withheld(content):
        source.state, source.why = LEFT, OPTED_OUT
    elif source.state == UNCHANGED:
        source.state = CHANGED  # the home has another agent now
    return source


def _transcript(collection, file, ignored, **about):
    source = _source(collection, Kind.TRANSCRIPT, file.path, file.stat, session_id=file.session_id, **about)
    source.session_state = file.state
    if file.session_id in ignored:
        source.state, source.why = LEFT, UNDONE
    elif file.state != Session.State.LIVE and not collection.include_deleted and source.is_to_read:
        source.state, source.why = LEFT, file.state
    return source


def _one(collection, kind, path, **about):
    if stat := stat_regular(path):
        yield _source(collection, kind, path, stat, **about)


def _source(collection, kind, path, stat, **about):
    return _source_of(collection.book, kind, path, stat, **about)


def _source_of(book, kind, path, stat, **about):
    of = {"agent_id": about.get("agent", "")}
    state = UNCHANGED if book.is_known(kind, path, stat, **of) else CHANGED if book.offset(kind, path, **of) else NEW
    return Source(kind, path, book.name(path), stat, state, target=TARGETS[kind], **about)


def _database(collection, path, target, about):
    stat, book = stat_regular(path), collection.book
    if stat is None:
        return
    state = CHANGED if book.offset(Kind.DATABASE, path) else NEW
    if source_databases.is_known(collection, path):
        state = UNCHANGED
    yield Source(Kind.DATABASE, path, book.name(path), stat, state, target=target, **about)


def follow_reported_workspaces(collection: Any, names: dict[str, str]) -> None:
    """Have the workspace of each agent follow the newest report: the stored one, unless its indexes have changed."""
    home = collection.home
    agents = Agent.objects.in_bulk(list(names.values()))
    for number, found in enumerate(home.agents):
        agent_id = names[found.home_name]
        agent = agents.get(agent_id) or Agent(agent_id=agent_id)
        at, folder = agent.workspace_reported_at or 0, agent.reported_workspace
        if agent.workspace_reported_at is None or not _is_known(collection, found, agent_id):
            newest = prompt_workspaces.read_newest(home, found, collection.copies)
            folder = newest[1] if newest[0] > at else folder
        home.agents[number] = followed = follow_reported_workspace(home, found, folder)
        check_memory_folder(home, followed)


def _is_known(collection, found, agent_id):
    """Whether the session indexes of an agent are as they were when they were read last."""
    stat = stat_regular(found.index) if found.index else None
    kind = CollectorSource.Kind.SESSION_INDEX
    is_index_known = stat is None or collection.book.is_known(kind, found.index, stat, agent_id=agent_id)
    return is_index_known and all(source_databases.is_known(collection, source) for source in found.databases)


def build_place_findings(home: Home, names: dict[str, str]) -> Iterator[Finding]:
    """What is odd about the places of a home; what keeps nothing from being read is a note."""
    for one in home.oddities:
        level = NOTE if one.why in HARMLESS else FINDING
        yield Finding("place", one.sentence, path=one.path, level=level, agent=names.get(one.agent, ""))
