"""Counts the rows besides records that an import would add from new and changed sources."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models

from agents import databases
from agents.homes import open_regular
from agents.models import CollectorSource
from artifacts import handles
from artifacts.models import Artifact
from automation.collectors import cron, state_database, subagents
from automation.models import CronJob, CronRunLog, DeliveryQueueEntry, FlowRun, SubagentRun, TaskRun
from collecting import episode_import
from collecting.inventory.shared_folders import find_shared_folder
from collecting.stages import consent, home_state, mem_store, schedules, source_databases
from episodes.collectors import openclaw_mem
from episodes.models import EpisodicEvent
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from ledger.collectors import agent_database, database_extras, database_schemas, jsonl, session_index, trajectories
from ledger.collectors.database_tables import MEMORY, STATE
from ledger.collectors.session_index import IndexEntry
from ledger.collectors.trajectories import Step
from ledger.models import IndexedFile, Session, TrajectoryEvent, VfsEntry
from openclaw_web.batches import in_batches

from .home_sources import EPISODES, TRAJECTORY, Source
from .places import AgentPlaces, fill_schema
from .rejects import RejectedLines, reject, report_failures

Kind = CollectorSource.Kind
MAX_WHOLE = 64 * 1024 * 1024
ROWS = 500
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of ours and the key columns of its rows, the least selective first."""

    model: type[models.Model]
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    def held(self, db: str, keys: list[Key]) -> set[Key]:
        """Those of these keys that have a row."""
        stored_keys: set[Key] = set()
        for batch in in_batches({key[0] for key in keys}, ROWS):
            rows = self.model._default_manager.using(db).filter(**{f"{self.columns[0]}__in": batch})
            stored_keys.update(rows.order_by().values_list(*self.columns))
        return stored_keys.intersection(keys)


SESSIONS = Rows(Session, ("id",))
STEPS = Rows(TrajectoryEvent, ("id",))
INDEXED = Rows(IndexedFile, ("database", "source", "path"))
EVENTS = Rows(EpisodicEvent, ("event_id",))
ARTIFACTS = Rows(Artifact, ("handle",))
VFS = Rows(VfsEntry, ("namespace", "path"))
JOBS, RUNS = Rows(CronJob, ("id",)), Rows(CronRunLog, ("job_id", "seq"))
SUBAGENTS, TASKS, FLOWS = Rows(SubagentRun, ("run_id",)), Rows(TaskRun, ("task_id",)), Rows(FlowRun, ("flow_id",))
DELIVERIES = Rows(DeliveryQueueEntry, ("queue_name", "id"))
# Files that OpenClaw rewrites whole: reader, table and key.
WHOLE: dict[str, tuple[Callable[[bytes], Iterable[Any]], Rows, str]] = {
    Kind.CRON_JOBS: (cron.read_jobs, JOBS, "id"),
    Kind.SUBAGENT_RUNS: (subagents.read_runs, SUBAGENTS, "run_id"),
}
TABLES_OF_STATE = (
    (state_database.read_jobs, JOBS, lambda row: (row.id,)),
    (state_database.read_subagent_runs, SUBAGENTS, lambda row: (row.run_id,)),
    (state_database.read_tasks, TASKS, lambda row: (row.values["task_id"],)),
    (state_database.read_flows, FLOWS, lambda row: (row.values["flow_id"],)),
    (state_database.read_deliveries, DELIVERIES, lambda row: (row.values["queue_name"], row.values["id"])),
)


@dataclass(slots=True)
class RowCounter:
    """Counts new rows in sources that are to be read. It is used for one home."""

    collection: Any
    rejected: RejectedLines
    agents: list[str] = field(default_factory=list)  # of this home
    seen: dict[str, set[Key]] = field(default_factory=dict)  # new rows of earlier sources
    logged_starts: set[tuple[str, Any]] = field(default_factory=set)  # (job, start time) of new runs in logs
    logged: dict[str, set[str]] = field(default_factory=dict)  # by job: texts of new runs in logs
    state: Source | None = None  # the state database that is to be read
    tool_ends: dict[str, list[Step]] = field(default_factory=lambda: defaultdict(list))  # by agent's name in the home

    def read_tool_ends(self, sources: list[Source]) -> None:
        """Read what a new state database of the home says of tool calls; `count_agent` counts it."""
        self.state = next((source for source in sources if source.is_to_read and source.target == "task_runs"), None)
        if self.state is not None:
            with (
                report_failures(self.state, self.rejected),
                source_databases.open_copy(self.collection, self.state.file, STATE) as database,
            ):
                for name, step in state_database.read_tool_ends(database):
                    self.tool_ends[name].append(step)

    def count_agent(self, agent_places: AgentPlaces, own: list[Source], workspace: Any) -> None:
        """Count new rows of an agent's sources other than records."""
        self.seen = {name: keys for name, keys in self.seen.items() if name in OF_HOME}
        if steps := self.tool_ends[own[0].home_agent] if own else ():
            known, ids = {*agent_places.by_session}, {step.session_id for step in steps}
            if agent_places.db:
                sessions = Session.objects.using(agent_places.db).filter(id__in=ids, record_count__gt=0)
                known |= {*sessions.values_list("id", flat=True)}
            keys = ((step.id,) for step in steps if step.session_id in known)
            self._count(self.state, STEPS, agent_places.db, keys)
        for source in filter(attrgetter("is_to_read"), own):
            with report_failures(source, self.rejected):
                if source.kind == Kind.SESSION_INDEX:
                    self._count_sessions(source, agent_places)
                elif source.kind == TRAJECTORY and agent_places.may_read(source.session_id):
                    self._count_steps(source, agent_places)
                elif source.kind == Kind.WORKSPACE_FILE:
                    self._count_version(source, agent_places, workspace)
                elif source.target == "indexed_files":
                    with source_databases.open_copy(self.collection, source.file, MEMORY) as database:
                        fill_schema(source, database)
                        self._count_indexed_files(source, agent_places, database)
                elif source is agent_places.of_database and agent_places.database is not None:
                    self._count_extras(source, agent_places)

    def count_home(self, sources: list[Source]) -> None:
        """Count new rows of sources that belong to the home as a whole."""
        for source in sorted(filter(attrgetter("is_to_read"), sources), key=_is_migrated):
            with report_failures(source, self.rejected):
                if source.kind in WHOLE:
                    self._count_whole_file(source)
                elif _is_migrated(source):
                    self._count_migrated_log(source)
                elif source.kind == Kind.CRON_RUNS:
                    self._count_run_log(source)
                elif source.kind == Kind.ARTIFACT:
                    self._count_artifact(source)
                elif source.target == EPISODES:
                    self._count_events(source)
                elif source.kind == Kind.DATABASE:
                    self._count_state(source)

    def _count(self, source, rows: Rows, db: str | None, keys: Iterable[Key]):
        """Count keys without a row."""
        seen = self.seen.setdefault(rows.name, set())
        for batch in in_batches(keys, ROWS):
            new = set(batch) - seen - (rows.held(db, batch) if db else set())
            seen |= new
            source.new[rows.name] += len(new)

    def _count_sessions(self, source, agent_places):
        try:
            entries = read_storable_entries(self.collection, source, agent_places)
        except ValueError as exc:
            reject(source, self.rejected, 0, "bad_index", str(exc))
            return
        self._count(source, SESSIONS, agent_places.db, ((entry.session_id,) for entry in entries))

    def _count_steps(self, source, agent_places):
        with open_regular(self.collection.home.root, source.file) as file:
            begin = self.collection.book.find_position(Kind.TRANSCRIPT, source.file, file).offset
            steps = trajectories.read_steps(jsonl.read_lines(file, begin))
            keys = ((step.id,) for step in steps if step.session_id and step.type)
            self._count(source, STEPS, agent_places.db, keys)

    def _count_version(self, source, agent_places, folders):
        entry = workspaces.find_entry(folders, source.file)
        if entry is None:
            return
        data = workspaces.read_content(entry)
        if agent_places.db is None or not guardian.is_latest(agent_places.db, entry.name, data):
            source.new[source.target] += 1

    def _count_indexed_files(self, source, agent_places, database):
        keys = ((source.name, row.source, row.path) for row in database_extras.read_indexed_files(database))
        self._count(source, INDEXED, agent_places.db, keys)

    def _count_extras(self, source, agent_places):
        database, book = agent_places.database, self.collection.book
        self._count_sessions(source, agent_places)
        for session_id, last in database_extras.read_last_step_seqs(database).items():
            part = book.part(f"{source.name}~{session_id}")
            read = part.end if part else 0
            if agent_places.may_read(session_id) and last >= read:
                steps = database_extras.read_session_steps(database, session_id, read)
                self._count(source, STEPS, agent_places.db, ((step.id,) for step in steps if step.type))
        self._count_indexed_files(source, agent_places, database)
        files = (file for file in database_extras.read_database_files(database) if file.table == "vfs_entries")
        self._count(source, VFS, agent_places.db, ((file.place, file.path) for file in files))

    def _count_artifact(self, source):
        """Count a content of openclaw-mem's store, which gives every agent of the home a row."""
        if problem := mem_store.problem_of(source.content):
            reject(source, self.rejected, 0, mem_store.BAD_ARTIFACT, problem)
            return
        keys = [(handles.from_sha256(source.content.sha256),)]
        self._count(source, ARTIFACTS, next(map(databases.find_alias, self.agents), None), keys)

    def _count_events(self, source):
        """Count rows of openclaw-mem's ledger that are no events of the agents that get them."""
        with source_databases.open_copy(self.collection, source.file, openclaw_mem.TABLES) as database:
            fill_schema(source, database)
            source.unread = database_schemas.find_unread_parts(database, openclaw_mem.SCHEMA).as_json()
            for db, rows in episode_import.preview(self.collection, database, source.stat.st_ino):
                for row in rows:
                    if row.problem:
                        reject(source, self.rejected, row.id, episode_import.BAD_EVENT, row.problem)
                self._count(source, EVENTS, db, ((row.event_id,) for row in rows if row.event_id))

    def _count_whole_file(self, source):
        read, rows, name = WHOLE[source.kind]
        with open_regular(self.collection.home.root, source.file) as file:
            data = file.read(MAX_WHOLE)
        try:
            values = list(read(data))
        except ValueError as exc:
            reject(source, self.rejected, 0, "bad_file", str(exc))
            return
        self._count(source, rows, DEFAULT_DB_ALIAS, ((getattr(value, name),) for value in values))

    def _count_run_log(self, source):
        job_id = source.file.stem
        with open_regular(self.collection.home.root, source.file) as file:
            begin = self.collection.book.find_position(Kind.CRON_RUNS, source.file, file).offset
            rows = list(self._read_runs(source, jsonl.read_lines(file, begin), job_id))
        self._count_runs(source, job_id, rows, goes_on=begin > 0)

    def _read_runs(self, source, lines, job_id) -> Iterator[CronRunLog]:
        for line in lines:
            row = schedules.parse_run_row(line, job_id, "")
            if row is None:
                reject(source, self.rejected, line.offset, line.reason, line.detail)
                continue
            self.logged_starts.add((row.job_id, home_state.parse_began_at(row.entry_json)))
            yield row

    def _count_runs(self, source, job_id, rows, *, goes_on=False):
        """Count runs of a log that are not stored, by text: places may change."""
        entries = self.logged.setdefault(job_id, set())
        new = {row.entry_json for row in schedules.find_new_runs(job_id, rows, goes_on=goes_on)} - entries
        entries |= new
        source.new[RUNS.name] += len(new)

    def _count_migrated_log(self, source):
        job_id = source.file.name.removesuffix(schedules.MIGRATED_SUFFIX)
        stored = CronRunLog.objects.filter(job_id=job_id, seq__gte=schedules.FIRST_TIME)
        known_starts = set(stored.values_list("seq", flat=True))
        known_starts |= {began for name, began in self.seen.get(RUNS.name, ()) if name == job_id}
        rows = schedules.read_whole_log(self.collection, source.file, job_id, "")
        rows = [row for row in rows if row is not None]
        rows = [row for row in rows if home_state.parse_began_at(row.entry_json) not in known_starts]
        self._count_runs(source, job_id, rows)

    def _count_state(self, source):
        with source_databases.open_copy(self.collection, source.file, STATE) as database:
            fill_schema(source, database)
            for read, rows, key in TABLES_OF_STATE:
                self._count(source, rows, DEFAULT_DB_ALIAS, map(key, read(database)))
            runs = list(state_database.read_runs(database))
            job_ids = {row.run.job_id for row in runs}
            known_starts = self.logged_starts | home_state.find_logged_runs(DEFAULT_DB_ALIAS, job_ids)
            keys = ((row.run.job_id, row.began_at) for row in runs)
            self._count(source, RUNS, DEFAULT_DB_ALIAS, (key for key in keys if key not in known_starts))


OF_HOME = frozenset(rows.name for rows in (JOBS, RUNS, SUBAGENTS, TASKS, FLOWS, DELIVERIES))


def read_storable_entries(collection: Any, source: Source, agent_places: AgentPlaces) -> list[IndexEntry]:
    """The entries of a session index that an import would store. Raises ValueError and NotReadable."""
    if source.kind == Kind.DATABASE:
        entries = agent_database.read_index(agent_places.database).entries
    else:
        with open_regular(collection.home.root, source.file) as file:
            entries = list(session_index.read(file.read(MAX_WHOLE)))
        shared = find_shared_folder(collection, source.file.parent)
        if shared is not None:
            entries = [entry for entry in entries if shared.find_key_owner(entry.session_key) == source.home_agent]
    if collection.opted_out:
        entries = [entry for entry in entries if not consent.has_opted_out(entry, collection.opted_out)]
    return [entry for entry in entries if agent_places.may_read(entry.session_id)]


def _is_migrated(source):
    """Whether a run log was put aside; such logs are read after the database."""
    return source.kind == Kind.CRON_RUNS and source.file.name.endswith(schedules.MIGRATED_SUFFIX)
