"""Compares rows that sources hold besides records with the store, by key."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models

from agents import databases
from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from artifacts import handles
from artifacts.models import Artifact
from automation.collectors import cron, state_database, subagents
from automation.models import CronJob, CronRunLog, DeliveryQueueEntry, FlowRun, SubagentRun, TaskRun
from collecting import episode_import
from collecting.inventory.shared_folders import find_shared_folder
from collecting.stages import consent, home_state, mem_store, schedules, source_databases
from collecting.stages.source_databases import UnreadableDatabase
from episodes.collectors import openclaw_mem
from episodes.models import EpisodicEvent
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from ledger.collectors import agent_database, database_extras, database_schemas, jsonl, session_index, trajectories
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.database_tables import MEMORY, STATE
from ledger.models import IndexedFile, Session, TrajectoryEvent, VfsEntry
from openclaw_web.sqlite import failures

from .home_sources import EPISODES, TRAJECTORY, Source
from .places import AgentPlaces, fill_schema
from .rejects import RejectedLines, reject

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
        for batch in in_batches({key[0] for key in keys}):
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
# Files that OpenClaw rewrites whole: reader, reason when it fails, table and key.
WHOLE: dict[str, tuple[Callable[[bytes], Iterable[Any]], str, Rows, str]] = {
    Kind.CRON_JOBS: (cron.read_jobs, "bad_file", JOBS, "id"),
    Kind.SUBAGENT_RUNS: (subagents.read_runs, "bad_file", SUBAGENTS, "run_id"),
}
TABLES_OF_STATE = (
    (state_database.read_jobs, JOBS, lambda row: (row.id,)),
    (state_database.read_subagent_runs, SUBAGENTS, lambda row: (row.run_id,)),
    (state_database.read_tasks, TASKS, lambda row: (row.values["task_id"],)),
    (state_database.read_flows, FLOWS, lambda row: (row.values["flow_id"],)),
    (state_database.read_deliveries, DELIVERIES, lambda row: (row.values["queue_name"], row.values["id"])),
)


@dataclass(slots=True)
class RowComparer:
    """Counts new rows in sources, and with `is_deep` lost ones. It is used for one home."""

    collection: Any
    rejected: RejectedLines
    is_deep: bool = False
    agents: list[str] = field(default_factory=list)  # of this home
    seen: dict[str, set[Key]] = field(default_factory=dict)  # new rows of earlier sources
    logged_starts: set[tuple[str, Any]] = field(default_factory=set)  # (job, start time) of runs in logs
    logged: dict[str, set[str]] = field(default_factory=dict)  # by job: texts of new runs in logs

    def compare_agent(self, agent_places: AgentPlaces, own: list[Source], workspace: Any) -> None:
        """Compare rows of an agent's sources other than records."""
        self.seen = {name: keys for name, keys in self.seen.items() if name in OF_HOME}
        for source in own:
            if source.kind == Kind.SESSION_INDEX and self._is_selected(source):
                self._report_failures(source, lambda source: self._compare_index(source, agent_places))
            elif source.kind == TRAJECTORY and self._is_selected(source) and agent_places.may_read(source.session_id):
                self._report_failures(source, lambda source: self._compare_trajectory(source, agent_places))
            elif source.kind == Kind.WORKSPACE_FILE and self._is_selected(source):
                self._report_failures(source, lambda source: self._compare_version(source, agent_places, workspace))
            elif source.target == "indexed_files" and self._is_selected(source):
                self._report_failures(source, lambda source: self._compare_memory(source, agent_places))
        if agent_places.database is not None and agent_places.of_database is not None:
            self._report_failures(agent_places.of_database, lambda source: self._compare_extras(source, agent_places))

    def compare_home(self, sources: list[Source]) -> None:
        """Compare rows of sources that belong to the home as a whole."""
        for source in sorted(sources, key=_is_migrated):
            if not self._is_selected(source):
                continue
            if source.kind in WHOLE:
                self._report_failures(source, self._compare_whole_file)
            elif source.kind == Kind.CRON_RUNS:
                self._report_failures(
                    source, self._compare_migrated_log if _is_migrated(source) else self._compare_run_log
                )
            elif source.kind == Kind.ARTIFACT:
                self._report_failures(source, self._compare_artifact)
            elif source.target == EPISODES:
                self._report_failures(source, self._compare_events)
            elif source.kind == Kind.DATABASE:
                self._report_failures(source, self._compare_state)

    def _is_selected(self, source):
        return source.is_to_read or (self.is_deep and not source.why)

    def _report_failures(self, source, compare):
        try:
            compare(source)
        except NotReadable as exc:
            source.problem = str(exc)
        except UnreadableDatabase as exc:
            source.problem = str(exc)
            reject(source, self.rejected, 0, exc.reason, str(exc))
        except DamagedDatabase as exc:
            source.problem = failures.translate_message(str(exc))
            reject(source, self.rejected, 0, "bad_database", source.problem)

    def _count(self, source, rows: Rows, db: str | None, keys: Iterable[tuple[Key, bool]]):
        """Count keys without a row: as new when the import reads them now, else as lost."""
        seen = self.seen.setdefault(rows.name, set())
        for batch in in_batches(keys):
            held = rows.held(db, [key for key, _is_new in batch]) if db else set()
            for key, is_new in batch:
                if key in held or key in seen:
                    continue
                seen.add(key)
                (source.new if is_new else source.lost)[rows.name] += 1

    def _compare_index(self, source, agent_places):
        with open_regular(self.collection.home.root, source.file) as file:
            data = file.read(MAX_WHOLE)
        try:
            entries = list(session_index.read(data))
        except ValueError as exc:
            reject(source, self.rejected, 0, "bad_index", str(exc))
            return
        shared = find_shared_folder(self.collection, source.file.parent)
        if shared is not None:
            entries = [entry for entry in entries if shared.find_key_owner(entry.session_key) == source.home_agent]
        self._compare_sessions(source, agent_places, entries)

    def _compare_sessions(self, source, agent_places, entries):
        opted_out = self.collection.opted_out
        ids = {entry.session_id for entry in entries if not (opted_out and consent.has_opted_out(entry, opted_out))}
        keys = ((session_id,) for session_id in sorted(ids) if agent_places.may_read(session_id))
        self._count(source, SESSIONS, agent_places.db, ((key, source.is_to_read) for key in keys))

    def _compare_trajectory(self, source, agent_places):
        with open_regular(self.collection.home.root, source.file) as file:
            read = self.collection.book.offset(Kind.TRANSCRIPT, source.file)
            begin = read
            if source.is_to_read:
                begin = read = self.collection.book.find_position(Kind.TRANSCRIPT, source.file, file).offset
            placed = (
                (step, line.offset)
                for line in jsonl.read_lines(file, 0 if self.is_deep else begin)
                for step in trajectories.read_steps([line])
                if step.session_id and step.type and (source.is_to_read or line.offset < read)
            )
            self._count(source, STEPS, agent_places.db, (((step.id,), at >= begin) for step, at in placed))

    def _compare_version(self, source, agent_places, workspace):
        name = source.file.relative_to(workspace).as_posix()
        entry = workspaces.find_entry(workspace, source.file)
        if entry is None:
            return
        data = workspaces.read_content(workspace, entry)
        is_held = agent_places.db is not None and (guardian.is_latest if source.is_to_read else guardian.has_version)(
            agent_places.db, name, data
        )
        if not is_held:
            (source.new if source.is_to_read else source.lost)[source.target] += 1

    def _compare_memory(self, source, agent_places):
        with source_databases.open_copy(self.collection, source.file, MEMORY) as database:
            fill_schema(source, database)
            self._compare_indexed_files(source, agent_places, database)

    def _compare_indexed_files(self, source, agent_places, database):
        keys = (
            ((source.name, row.source, row.path), source.is_to_read)
            for row in database_extras.read_indexed_files(database)
        )
        self._count(source, INDEXED, agent_places.db, keys)

    def _compare_extras(self, source, agent_places):
        database, book = agent_places.database, self.collection.book
        self._compare_sessions(source, agent_places, agent_database.read_index(database).entries)
        for session_id, last in database_extras.read_last_step_seqs(database).items():
            part = book.part(f"{source.name}~{session_id}")
            read = part.end if part else 0
            if agent_places.may_read(session_id) and (self.is_deep or last >= read):
                fresh = (
                    {entry.id for entry in database_extras.read_session_steps(database, session_id, read)}
                    if source.is_to_read
                    else set()
                )
                steps = database_extras.read_session_steps(database, session_id, 0 if self.is_deep else read)
                typed_steps = (entry for entry in steps if entry.type)
                self._count(source, STEPS, agent_places.db, (((entry.id,), entry.id in fresh) for entry in typed_steps))
        self._compare_indexed_files(source, agent_places, database)
        listed = (entry for entry in database_extras.read_database_files(database) if entry.table == "vfs_entries")
        self._count(source, VFS, agent_places.db, (((entry.place, entry.path), source.is_to_read) for entry in listed))

    def _compare_artifact(self, source):
        """Compare a content of openclaw-mem's store, which gives every agent of the home a row."""
        if problem := mem_store.problem_of(source.content) if source.is_to_read or self.is_deep else "":
            if source.is_to_read:  # else the import has rejected it already
                reject(source, self.rejected, 0, mem_store.BAD_ARTIFACT, problem)
            return
        keys = [((handles.from_sha256(source.content.sha256),), source.is_to_read)]
        self._count(source, ARTIFACTS, next(map(databases.find_alias, self.agents), None), keys)

    def _compare_events(self, source):
        """Compare rows of openclaw-mem's ledger with the events of the agents that get them."""
        with source_databases.open_copy(self.collection, source.file, openclaw_mem.TABLES) as database:
            fill_schema(source, database)
            source.unread = database_schemas.find_unread_parts(database, openclaw_mem.SCHEMA).as_json()
            for db, rows in episode_import.preview(self.collection, database, source.stat.st_ino, is_deep=self.is_deep):
                for row in rows:
                    if row.problem and source.is_to_read and not row.is_read:
                        reject(source, self.rejected, row.id, episode_import.BAD_EVENT, row.problem)
                events = [(row, source.is_to_read and not row.is_read) for row in rows if row.event_id]
                # That an agent's file is lost, with all events in it, is a finding of its own.
                keys = (((row.event_id,), is_new) for row, is_new in events if is_new or db)
                self._count(source, EVENTS, db, keys)

    def _compare_whole_file(self, source):
        read, reason, rows, name = WHOLE[source.kind]
        with open_regular(self.collection.home.root, source.file) as file:
            data = file.read(MAX_WHOLE)
        try:
            values = list(read(data))
        except ValueError as exc:
            reject(source, self.rejected, 0, reason, str(exc))
            return
        self._count(source, rows, DEFAULT_DB_ALIAS, (((getattr(value, name),), source.is_to_read) for value in values))

    def _compare_run_log(self, source):
        with open_regular(self.collection.home.root, source.file) as file:
            begin = read = self.collection.book.offset(Kind.CRON_RUNS, source.file)
            if source.is_to_read:
                begin = read = self.collection.book.find_position(Kind.CRON_RUNS, source.file, file).offset
            lines = jsonl.read_lines(file, 0 if self.is_deep else begin)
            lines = (line for line in lines if source.is_to_read or line.offset < read)
            rows = list(self._read_runs(source, lines, begin, source.file.stem))
        self._compare_runs(source, source.file.stem, [row for row in rows if row.seq < begin], is_new=False)
        self._compare_runs(source, source.file.stem, [row for row in rows if row.seq >= begin], goes_on=begin > 0)

    def _read_runs(self, source, lines, begin, job_id) -> Iterator[CronRunLog]:
        for line in lines:
            row = schedules.parse_run_row(line, job_id, "")
            if row is not None:
                self.logged_starts.add((row.job_id, home_state.parse_began_at(row.entry_json)))
                yield row
            elif line.offset >= begin:
                reject(source, self.rejected, line.offset, line.reason, line.detail)

    def _compare_runs(self, source, job_id, rows, *, is_new=True, goes_on=False):
        """Count runs of a log that are not stored, by text: places may change."""
        entries = self.logged.setdefault(job_id, set())
        for row in schedules.find_new_runs(job_id, rows, goes_on=goes_on):
            if row.entry_json not in entries:
                entries.add(row.entry_json)
                (source.new if is_new else source.lost)[RUNS.name] += 1

    def _compare_migrated_log(self, source):
        job_id = source.file.name.removesuffix(home_state.MIGRATED_SUFFIX)
        rows = CronRunLog.objects.filter(job_id=job_id, seq__gte=schedules.FIRST_TIME)
        known_starts = set(rows.values_list("seq", flat=True))
        known_starts |= {began for name, began in self.seen.get(RUNS.name, ()) if name == job_id}
        with open_regular(self.collection.home.root, source.file) as file:
            lines = jsonl.read_lines(file, is_closed=True)
            log_rows = [schedules.parse_run_row(line, job_id, "") for line in lines]
        new_rows = [
            row for row in log_rows if row is not None and home_state.parse_began_at(row.entry_json) not in known_starts
        ]
        self._compare_runs(source, job_id, new_rows, is_new=source.is_to_read)

    def _compare_state(self, source):
        with source_databases.open_copy(self.collection, source.file, STATE) as database:
            fill_schema(source, database)
            for read, rows, key in TABLES_OF_STATE:
                self._count(source, rows, DEFAULT_DB_ALIAS, ((key(row), source.is_to_read) for row in read(database)))
            runs = list(state_database.read_runs(database))
            known_starts = self.logged_starts | home_state.find_logged_runs({row.run.job_id for row in runs})
            keys = ((row.run.job_id, row.began_at) for row in runs)
            self._count(
                source, RUNS, DEFAULT_DB_ALIAS, ((key, source.is_to_read) for key in keys if key not in known_starts)
            )


OF_HOME = frozenset(rows.name for rows in (JOBS, RUNS, SUBAGENTS, TASKS, FLOWS, DELIVERIES))


def in_batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the items in lists of at most ROWS."""
    rest = iter(items)
    while batch := list(islice(rest, ROWS)):
        yield batch


def _is_migrated(source):
    """Whether a run log was put aside; such logs are read after the database."""
    return source.kind == Kind.CRON_RUNS and source.file.name.endswith(home_state.MIGRATED_SUFFIX)
