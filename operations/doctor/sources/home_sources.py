"""The sources of an OpenClaw home with their states, found without opening a file."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.conf import settings

from agents.homes import STATE_DATABASE, Home, HomeAgent, list_names, stat_regular
from agents.layout.home_agents import check_memory_folder, follow_reported_workspace
from agents.layout.places import HARMLESS
from agents.models import Agent, CollectorSource
from agents.skipped_sources import find_skipped
from collecting import episode_import
from collecting.inventory.transcripts import find_sources
from collecting.stages import extras, mem_store, source_databases
from collecting.stages.schedules import MIGRATED_SUFFIX
from guardian.collectors import workspace as workspaces
from ledger import prompt_workspaces
from ledger.models import Session

from ..findings import FINDING, NOTE, Finding

Kind = CollectorSource.Kind
NEW, CHANGED, UNCHANGED, LEFT = "new", "changed", "unchanged", "left"
TRAJECTORY, LEFTOVER = "trajectory", "leftover"
EPISODES = "episodic_events"
UNDONE, OPTED_OUT = "undone", "opted_out"
# The main table that a source fills: `target_table` of its row.
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
# Kinds that may be moved or removed after the import: JSONL and JSON whose whole content is stored.
LEGACY = frozenset({Kind.TRANSCRIPT, Kind.SESSION_INDEX, Kind.CRON_JOBS, Kind.CRON_RUNS, Kind.SUBAGENT_RUNS})


@dataclass(slots=True)
class Source:
    """One source file. `state` is what an import would do with it.

    `why` is the reason when it is left out.
    """

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
    # Set after the source was opened.
    new: Counter[str] = field(default_factory=Counter)  # rows that a collect would add, by table
    kinds: Counter[str] = field(default_factory=Counter)  # new records by kind
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
        """How many rows are new: all of the state database, else those of the target table."""
        return self.new.total() if self.target == "task_runs" else self.new[self.target]

    @property
    def size(self) -> int:
        return source_databases.get_copy_size(self.file) if self.kind == Kind.DATABASE else self.stat.st_size

    def as_json(self) -> dict[str, Any]:
        names = ("agent", "target", "state", "why", "version", "records", "rejected", "problem")
        return {
            "path": self.name,
            "kind": str(self.kind),
            "bytes": self.size,
            "new": dict(sorted(self.new.items())),
            "kinds": dict(sorted(self.kinds.items())),
            **{name: getattr(self, name) for name in names},
        }


def find_agent_sources(collection: Any, home_agent: HomeAgent, agent_id: str) -> Iterator[Source]:
    """Yield every source of one agent, those of its former places first."""
    for part in home_agent.parts:
        yield from _find_part_sources(collection, part, agent_id)
    owner_fields = {"agent": agent_id, "home_agent": home_agent.home_name}
    memory = collection.home.root / "memory" / f"{home_agent.home_name}.sqlite"
    yield from _find_database(collection, memory, "indexed_files", owner_fields)
    for entry in workspaces.find_entries(home_agent.workspaces, collection.home.notes):
        yield from _find_file(collection, Kind.WORKSPACE_FILE, entry.path, **owner_fields)


def _find_part_sources(collection, part, agent_id) -> Iterator[Source]:
    owner_fields = {"agent": agent_id, "home_agent": part.home_name}
    notes = collection.home.notes
    ignored = collection.ignored.get(agent_id, frozenset())
    if part.index:
        yield from _find_file(collection, Kind.SESSION_INDEX, part.index, **owner_fields)
    files = list(find_sources(collection, part, find_skipped(collection.home.root, agent_id)))
    for file in files:
        if not file.is_imported:
            yield _build_transcript(collection, file, ignored, **owner_fields)
    for file in filter(attrgetter("is_imported"), files):
        source = _build_source(
            collection, Kind.TRANSCRIPT, file.path, file.stat, session_id=file.session_id, **owner_fields
        )
        source.kind, source.session_state = LEFTOVER, file.state
        if file.session_id in ignored:
            source.state, source.why = LEFT, UNDONE
        elif source.is_to_read and not collection.include_deleted:
            source.state, source.why = (
                LEFT,
                "imported",
            )  # with deleted sessions, the database decides whether it lost this session
        yield source
    for path in extras.find_trajectories(part.sessions, notes):
        for source in _find_file(collection, Kind.TRANSCRIPT, path, **owner_fields):
            source.kind, source.target, source.session_id = TRAJECTORY, TARGETS[TRAJECTORY], extras.get_session_id(path)
            if source.session_id in ignored:
                source.state, source.why = LEFT, UNDONE
            yield source
    if part.database:
        yield from _find_database(collection, part.database, "transcript_events", owner_fields)


def find_home_sources(collection: Any, agents: Iterable[str]) -> Iterator[Source]:
    """Yield every source of the home as a whole; `agents` are its agents here."""
    root = collection.home.root
    yield from _find_file(collection, Kind.CRON_JOBS, root / "cron" / "jobs.json")
    yield from _find_file(collection, Kind.SUBAGENT_RUNS, root / "subagents" / "runs.json")
    folder = root / "cron" / "runs"
    for name in list_names(folder, collection.home.notes):
        if name.endswith((".jsonl", MIGRATED_SUFFIX)):
            yield from _find_file(collection, Kind.CRON_RUNS, folder / name)
    yield from _find_database(collection, root / STATE_DATABASE, "task_runs", {})
    yield from _find_ledger(collection, root.joinpath(*episode_import.PLACE))
    if store := mem_store.find_store(collection, agents):
        with suppress(OSError):  # the folder may disappear while it is listed
            yield from (_build_artifact_source(store, content) for content in store.contents())


def _build_artifact_source(store, content):
    source = _build_book_source(store.book, Kind.ARTIFACT, content.path, content.stat)
    source.content = content
    if store.is_known(content):
        source.state = UNCHANGED
    elif store.is_withheld(content):
        source.state, source.why = LEFT, OPTED_OUT
    elif source.state == UNCHANGED:
        source.state = CHANGED  # the home has another agent now
    return source


def _build_transcript(collection, file, ignored, **owner_fields):
    source = _build_source(
        collection, Kind.TRANSCRIPT, file.path, file.stat, session_id=file.session_id, **owner_fields
    )
    source.session_state = file.state
    if file.session_id in ignored:
        source.state, source.why = LEFT, UNDONE
    elif file.state != Session.State.LIVE and not collection.include_deleted and source.is_to_read:
        source.state, source.why = LEFT, file.state
    return source


def _find_file(collection, kind, path, **owner_fields):
    if stat := stat_regular(path):
        yield _build_source(collection, kind, path, stat, **owner_fields)


def _build_source(collection, kind, path, stat, **owner_fields):
    return _build_book_source(collection.book, kind, path, stat, **owner_fields)


def _build_book_source(book, kind, path, stat, **owner_fields):
    owner = {"agent_id": owner_fields.get("agent", "")}
    state = (
        UNCHANGED if book.is_known(kind, path, stat, **owner) else CHANGED if book.offset(kind, path, **owner) else NEW
    )
    return Source(kind, path, book.name(path), stat, state, target=TARGETS[kind], **owner_fields)


def _find_database(collection, path, target, owner_fields):
    stat, book = stat_regular(path), collection.book
    if stat is None:
        return
    state = CHANGED if book.offset(Kind.DATABASE, path) else NEW
    if source_databases.is_known(collection, path):
        state = UNCHANGED
    yield Source(Kind.DATABASE, path, book.name(path), stat, state, target=target, **owner_fields)


def _find_ledger(collection, path):
    stat, book = stat_regular(path), collection.book
    episode_import.note_irregular(collection)
    if stat is None or episode_import.CAPABILITY in settings.DISABLED:
        return
    state = CHANGED if book.offset(Kind.DATABASE, path) else NEW
    if not episode_import.count_bytes_to_read(collection):
        state = UNCHANGED
    yield Source(Kind.DATABASE, path, book.name(path), stat, state, target=EPISODES)


def follow_reported_workspaces(collection: Any, names: dict[str, str]) -> None:
    """Set the workspace of each agent to the one of its newest report.

    That is the stored report, unless the agent's indexes have changed.
    """
    home = collection.home
    agents = Agent.objects.in_bulk(list(names.values()))
    for number, home_agent in enumerate(home.agents):
        agent_id = names[home_agent.home_name]
        agent = agents.get(agent_id) or Agent(agent_id=agent_id)
        reported_at, folder = agent.workspace_reported_at or 0, agent.reported_workspace
        if agent.workspace_reported_at is None or not _is_known(collection, home_agent, agent_id):
            newest = prompt_workspaces.read_newest(home, home_agent, collection.copies)
            folder = newest[1] if newest[0] > reported_at else folder
        home.agents[number] = followed = follow_reported_workspace(home, home_agent, folder)
        check_memory_folder(home, followed)


def _is_known(collection, home_agent, agent_id):
    """Whether the session indexes of an agent are unchanged since they were read."""
    stat = stat_regular(home_agent.index) if home_agent.index else None
    kind = CollectorSource.Kind.SESSION_INDEX
    is_index_known = stat is None or collection.book.is_known(kind, home_agent.index, stat, agent_id=agent_id)
    return is_index_known and all(source_databases.is_known(collection, source) for source in home_agent.databases)


def build_place_findings(home: Home, names: dict[str, str]) -> Iterator[Finding]:
    """Findings about odd places of a home; those that prevent no reading are notes."""
    for oddity in home.oddities:
        level = NOTE if oddity.why in HARMLESS else FINDING
        yield Finding("place", oddity.sentence, path=oddity.path, level=level, agent=names.get(oddity.agent, ""))
