"""What sources hold besides records, by the keys of the rows it becomes: which rows are not in the store."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models

from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from artifacts import handles
from artifacts.models import Artifact
from automation.collectors import cron, state_database, subagents
from automation.models import CronJob, CronRunLog, DeliveryQueueEntry, FlowRun, SubagentRun, TaskRun
from collecting.inventory.shared_folders import find_shared_folder
from collecting.stages import consent, home_state, mem_store, schedules, source_databases
from collecting.stages.source_databases import UnreadableDatabase
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from ledger.collectors import agent_database, database_extras, jsonl, session_index, trajectories
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.database_tables import MEMORY, STATE
from ledger.models import IndexedFile, Session, TrajectoryEvent, VfsEntry
from openclaw_web.sqlite import failures

from .home_sources import TRAJECTORY, Source
from .places import AgentPlaces, fill_schema, find_alias
from .rejects import RejectedLines, reject

Kind = CollectorSource.Kind
MAX_WHOLE = 64 * 1024 * 1024
ROWS = 500
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of ours and the columns that its rows are told apart by, the one with few values first."""

    model: type[models.Model]
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    def held(self, db: str, keys: list[Key]) -> set[Key]:
        """Those of these keys that have a row."""
        found: set[Key] = set()
        for some in in_batches({key[0] for key in keys}):
            rows = self.model._default_manager.using(db).filter(**{f"{self.columns[0]}__in": some})
            found.update(rows.order_by().values_list(*self.columns))
        return found.intersection(keys)


SESSIONS = Rows(Session, ("id",))
STEPS = Rows(TrajectoryEvent, ("id",))
INDEXED = Rows(IndexedFile, ("database", "source", "path"))
ARTIFACTS = Rows(Artifact, ("handle",))
VFS = Rows(VfsEntry, ("namespace", "path"))
JOBS, RUNS = Rows(CronJob, ("id",)), Rows(CronRunLog, ("job_id", "seq"))
SUBAGENTS, TASKS, FLOWS = Rows(SubagentRun, ("run_id",)), Rows(TaskRun, ("task_id",)), Rows(FlowRun, ("flow_id",))
DELIVERIES = Rows(DeliveryQueueEntry, ("queue_name", "id"))
# Files that are rewritten whole: what is in one, and the reason when it is none.
WHOLE: dict[str, tuple[Callable[[bytes], Iterable[Any]], str, Rows, str]] = {
    Kind.CRON_JOBS: (cron.read_jobs, "bad_file", JOBS, "id"),
    Kind.SUBAGENT_RUNS: (subagents.read_runs, "bad_file", SUBAGENTS, "run_id"),
}
TABLES_OF_STATE = (
    (state_database.read_jobs, JOBS, lambda one: (one.id,)),
    (state_database.read_subagent_runs, SUBAGENTS, lambda one: (one.run_id,)),
    (state_database.read_tasks, TASKS, lambda one: (one.values["task_id"],)),
    (state_database.read_flows, FLOWS, lambda one: (one.values["flow_id"],)),
    (state_database.read_deliveries, DELIVERIES, lambda one: (one.values["queue_name"], one.values["id"])),
)


@dataclass(slots=True)
class RowComparer:
    """Counts what is new, and with `is_deep` what is lost, in sources that are looked into one after another."""

    collection: Any
    rejected: RejectedLines
    is_deep: bool = False
    agents: list[str] = field(default_factory=list)  # of this home
    seen: dict[str, set[Key]] = field(default_factory=dict)  # new rows that an earlier source brings
    told: set[tuple[str, Any]] = field(default_factory=set)  # (job, moment it began) of runs in logs
    logged: dict[str, set[str]] = field(default_factory=dict)  # by job: what new runs of logs say

    def compare_agent(self, looked: AgentPlaces, own: list[Source], workspace: Any) -> None:
        """Look into what an agent has besides records."""
        self.seen = {name: keys for name, keys in self.seen.items() if name in OF_HOME}
        for source in own:
            if source.kind == Kind.SESSION_INDEX and self._is_wanted(source):
                self._guarded(source, lambda one: self._index(one, looked))
            elif source.kind == TRAJECTORY and self._is_wanted(source) and looked.may_read(source.session_id):
                self._guarded(source, lambda one: self._trajectory(one, looked))
            elif source.kind == Kind.WORKSPACE_FILE and self._is_wanted(source):
                self._guarded(source, lambda one: self._version(one, looked, workspace))
            elif source.target == "indexed_files" and self._is_wanted(source):
                self._guarded(source, lambda one: self._memory(one, looked))
        if looked.database is not None and looked.of_database is not None:
            self._guarded(looked.of_database, lambda one: self._around(one, looked))

    def compare_home(self, found: list[Source]) -> None:
        """Look into what belongs to a home as a whole."""
        for source in sorted(found, key=_is_migrated):
            if not self._is_wanted(source):
                continue
            if source.kind in WHOLE:
                self._guarded(source, self._whole)
            elif source.kind == Kind.CRON_RUNS:
                self._guarded(source, self._migrated_log if _is_migrated(source) else self._run_log)
            elif source.kind == Kind.ARTIFACT:
                self._guarded(source, self._artifact)
            elif source.kind == Kind.DATABASE:
                self._guarded(source, self._state)

    def _is_wanted(self, source):
        return source.is_to_read or (self.is_deep and not source.why)

    def _guarded(self, source, look):
        try:
            look(source)
        except NotReadable as exc:
            source.problem = str(exc)
        except UnreadableDatabase as exc:
            source.problem = str(exc)
            reject(source, self.rejected, 0, exc.reason, str(exc))
        except DamagedDatabase as exc:
            source.problem = failures.translate_message(str(exc))
            reject(source, self.rejected, 0, "bad_database", source.problem)

    def _count(self, source, rows: Rows, db: str | None, keys: Iterable[tuple[Key, bool]]):
        """`keys` with whether a collect reads them now: then what has no row is new, else it is lost."""
        seen = self.seen.setdefault(rows.name, set())
        for some in in_batches(keys):
            held = rows.held(db, [key for key, _is_new in some]) if db else set()
            for key, is_new in some:
                if key in held or key in seen:
                    continue
                seen.add(key)
                (source.new if is_new else source.lost)[rows.name] += 1

    def _index(self, source, looked):
        with open_regular(self.collection.home.root, source.file) as file:
            data = file.read(MAX_WHOLE)
        try:
            entries = list(session_index.read(data))
        except ValueError as exc:
            reject(source, self.rejected, 0, "bad_index", str(exc))
            return
        shared = find_shared_folder(self.collection, source.file.parent)
        if shared is not None:
            entries = [one for one in entries if shared.owner_of_key(one.session_key) == source.home_agent]
        self._sessions(source, looked, entries)

    def _sessions(self, source, looked, entries):
        out = self.collection.opted_out
        ids = {entry.session_id for entry in entries if not (out and consent.has_opted_out(entry, out))}
        kept = ((one,) for one in sorted(ids) if looked.may_read(one))
        self._count(source, SESSIONS, looked.db, ((key, source.is_to_read) for key in kept))

    def _trajectory(self, source, looked):
        with open_regular(self.collection.home.root, source.file) as file:
            read = self.collection.book.offset(Kind.TRANSCRIPT, source.file)
            begin = read
            if source.is_to_read:
                begin = read = self.collection.book.reading(Kind.TRANSCRIPT, source.file, file).offset
            placed = (
                (step, line.offset)
                for line in jsonl.read_lines(file, 0 if self.is_deep else begin)
                for step in trajectories.read_steps([line])
                if step.session_id and step.type and (source.is_to_read or line.offset < read)
            )
            self._count(source, STEPS, looked.db, (((step.id,), at >= begin) for step, at in placed))

    def _version(self, source, looked, workspace):
        name = source.file.relative_to(workspace).as_posix()
        entry = workspaces.find_entry(workspace, source.file)
        if entry is None:
            return
        data = workspaces.read_content(workspace, entry)
        is_held = looked.db is not None and (guardian.is_latest if source.is_to_read else guardian.has_version)(
            looked.db, name, data
        )
        if not is_held:
            (source.new if source.is_to_read else source.lost)[source.target] += 1

    def _memory(self, source, looked):
        with source_databases.open_copy(self.collection, source.file, MEMORY) as opened:
            fill_schema(source, opened)
            self._indexed(source, looked, opened)

    def _indexed(self, source, looked, opened):
        keys = (
            ((source.name, one.source, one.path), source.is_to_read)
            for one in database_extras.read_indexed_files(opened)
        )
        self._count(source, INDEXED, looked.db, keys)

    def _around(self, source, looked):
        opened, book = looked.database, self.collection.book
        self._sessions(source, looked, agent_database.read_index(opened).entries)
        for session_id, last in database_extras.read_last_step_seqs(opened).items():
            part = book.part(f"{source.name}~{session_id}")
            read = part.end if part else 0
            if looked.may_read(session_id) and (self.is_deep or last >= read):
                fresh = (
                    {one.id for one in database_extras.read_session_steps(opened, session_id, read)}
                    if source.is_to_read
                    else set()
                )
                steps = database_extras.read_session_steps(opened, session_id, 0 if self.is_deep else read)
                kept = (one for one in steps if one.type)
                self._count(source, STEPS, looked.db, (((one.id,), one.id in fresh) for one in kept))
        self._indexed(source, looked, opened)
        listed = (one for one in database_extras.read_database_files(opened) if one.table == "vfs_entries")
        self._count(source, VFS, looked.db, (((one.place, one.path), source.is_to_read) for one in listed))

    def _artifact(self, source):
        """A content of openclaw-mem's store; every agent of the home gets a row for it."""
        if problem := mem_store.problem_of(source.content) if source.is_to_read or self.is_deep else "":
            if source.is_to_read:  # else it was rejected when it was read
                reject(source, self.rejected, 0, mem_store.BAD_ARTIFACT, problem)
            return
        keys = [((handles.from_sha256(source.content.sha256),), source.is_to_read)]
        self._count(source, ARTIFACTS, next(map(find_alias, self.agents), None), keys)

    def _whole(self, source):
        read, reason, rows, name = WHOLE[source.kind]
        with open_regular(self.collection.home.root, source.file) as file:
            data = file.read(MAX_WHOLE)
        try:
            found = list(read(data))
        except ValueError as exc:
            reject(source, self.rejected, 0, reason, str(exc))
            return
        self._count(source, rows, DEFAULT_DB_ALIAS, (((getattr(one, name),), source.is_to_read) for one in found))

    def _run_log(self, source):
        with open_regular(self.collection.home.root, source.file) as file:
            begin = read = self.collection.book.offset(Kind.CRON_RUNS, source.file)
            if source.is_to_read:
                begin = read = self.collection.book.reading(Kind.CRON_RUNS, source.file, file).offset
            lines = jsonl.read_lines(file, 0 if self.is_deep else begin)
            lines = (line for line in lines if source.is_to_read or line.offset < read)
            rows = list(self._runs(source, lines, begin, source.file.stem))
        self._log(source, source.file.stem, [row for row in rows if row.seq < begin], is_new=False)
        self._log(source, source.file.stem, [row for row in rows if row.seq >= begin], goes_on=begin > 0)

    def _runs(self, source, lines, begin, job_id) -> Iterator[CronRunLog]:
        for line in lines:
            row = schedules.parse_run_row(line, job_id, "")
            if row is not None:
                self.told.add((row.job_id, home_state.parse_began_at(row.entry_json)))
                yield row
            elif line.offset >= begin:
                reject(source, self.rejected, line.offset, line.reason, line.detail)

    def _log(self, source, job_id, rows, *, is_new=True, goes_on=False):
        """Runs are told apart by what they say: their place in a log may be another one by now."""
        entries = self.logged.setdefault(job_id, set())
        for row in schedules.find_new_runs(job_id, rows, goes_on=goes_on):
            if row.entry_json not in entries:
                entries.add(row.entry_json)
                (source.new if is_new else source.lost)[RUNS.name] += 1

    def _migrated_log(self, source):
        job_id = source.file.name.removesuffix(home_state.MIGRATED_SUFFIX)
        rows = CronRunLog.objects.filter(job_id=job_id, seq__gte=schedules.FIRST_TIME)
        told = set(rows.values_list("seq", flat=True))
        told |= {began for name, began in self.seen.get(RUNS.name, ()) if name == job_id}
        with open_regular(self.collection.home.root, source.file) as file:
            lines = jsonl.read_lines(file, is_closed=True)
            found = [schedules.parse_run_row(line, job_id, "") for line in lines]
        kept = [row for row in found if row is not None and home_state.parse_began_at(row.entry_json) not in told]
        self._log(source, job_id, kept, is_new=source.is_to_read)

    def _state(self, source):
        with source_databases.open_copy(self.collection, source.file, STATE) as database:
            fill_schema(source, database)
            for read, rows, key in TABLES_OF_STATE:
                self._count(source, rows, DEFAULT_DB_ALIAS, ((key(one), source.is_to_read) for one in read(database)))
            found = list(state_database.read_runs(database))
            told = self.told | home_state.find_logged_runs({one.run.job_id for one in found})
            keys = ((one.run.job_id, one.began_at) for one in found)
            self._count(source, RUNS, DEFAULT_DB_ALIAS, ((key, source.is_to_read) for key in keys if key not in told))


OF_HOME = frozenset(rows.name for rows in (JOBS, RUNS, SUBAGENTS, TASKS, FLOWS, DELIVERIES))


def in_batches(things: Iterable[Any]) -> Iterator[list[Any]]:
    """The same things, some at a time."""
    rest = iter(things)
    while some := list(islice(rest, ROWS)):
        yield some


def _is_migrated(source):
    """Run logs that were put aside are read after the database that has their runs."""
    return source.kind == Kind.CRON_RUNS and source.file.name.endswith(home_state.MIGRATED_SUFFIX)
