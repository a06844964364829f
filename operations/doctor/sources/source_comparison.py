"""Compares tables beside sessions with what an import makes of their sources, for `doctor --deep`.

The stages of the importer read every source that is unchanged since its import into an empty file. Rows whose source is
gone are not made again: they are kept, and no difference.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _

from agents import databases, holdings
from agents.checks import is_agent_model
from agents.homes import NotReadable, open_regular, stat_regular
from agents.models import Agent, CollectorSource, SkippedSource
from agents.sources import UnreadBook
from artifacts import handles
from artifacts.models import Artifact
from artifacts.store import folder_import
from automation.models import CronRunLog
from collecting import collect, episode_import
from collecting.agent_reimport import SCRATCH_BYTES
from collecting.stages import agent_database, extras, home_state, mem_store, schedules, source_databases
from collecting.stages.guard import UNFORESEEN
from collecting.stages.source_databases import UnreadableDatabase
from collecting.stages.transcripts import modified_ms
from episodes.collectors import openclaw_mem
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from guardian.standing import provenance
from ledger import index_rows
from ledger.collectors import jsonl, trajectories
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.database_tables import PROVENANCE, STATE
from ledger.rebuild import reimport
from ledger.transcripts import extras_store
from openclaw_web.disk import room
from openclaw_web.pages.formatting import size as in_words
from openclaw_web.sqlite import tables, upkeep
from openclaw_web.sqlite.dialect import ATTACHED
from openclaw_web.sqlite.row_comparison import (
    DIFFERENT,
    MISSING,
    NONE,
    RowDifference,
    compare_rows,
    list_keys,
    take_rows,
)

from .home_sources import EPISODES, TRAJECTORY, UNCHANGED, Source
from .new_rows import ARTIFACTS, EVENTS, SESSIONS, STEPS, read_storable_entries
from .places import AgentPlaces
from .session_comparison import Comparison

Kind = CollectorSource.Kind
UNREADABLE = (NotReadable, UnreadableDatabase, DamagedDatabase, ValueError, *UNFORESEEN)
# Stored rows that are no rows of the source: of tables that an import replaces whole, and the same row under another
# number. Every other row may be of a source that is gone.
STEP = "session_id, seq, run_id, type, created_at, about_json"
RUN = "job_id, ts, status, entry_json"
ADDITIONAL = {
    "indexed_files": f"database IN (SELECT database FROM {ATTACHED}.indexed_files)",  # noqa: S608 - constants
    "vfs_entries": f"EXISTS (SELECT 1 FROM {ATTACHED}.vfs_entries)",  # noqa: S608
    "trajectory_events": f"({STEP}) IN (SELECT {STEP} FROM {ATTACHED}.trajectory_events)",  # noqa: S608
    "cron_run_logs": f"({RUN}) IN (SELECT {RUN} FROM {ATTACHED}.cron_run_logs)",  # noqa: S608
}
# Columns that were decided when a row was stored.
HISTORICAL = {"cron_run_logs": {"agent_id"}, "artifacts": reimport.SHARED[Artifact]}
Import = Callable[[Any, str], None]  # takes a collection and the alias of an agent's file


@dataclass(frozen=True, slots=True)
class ScratchAgent:
    """An agent of the store whose rows go to the file `db`."""

    agent_id: str
    db: str


@dataclass(slots=True)
class SourceComparer:
    """Compares rows beside sessions; with `is_mending` it also makes the stored rows those of the sources."""

    collection: Any
    names: dict[str, str]  # the agents of this home: names there and here
    compared: Comparison
    is_mending: bool = False

    def compare_agent(self, agent_places: AgentPlaces, home_agent: Any, sources: list[Source]) -> None:
        """Compare the rows of an agent's sources."""
        agent_id, db = agent_places.agent_id, agent_places.db
        if db is None:
            return
        sources = list(filter(self._is_read, sources))
        models = [Artifact, *filter(is_agent_model, tables.list_models(tables.OF_SOURCES))]
        imports = list(self._list_agent_imports(agent_places, sources))
        differences = self._compare(agent_id, db, models, imports)
        for source in sources:
            with self._contained(source):
                is_open = source is agent_places.of_database and agent_places.database is not None
                if source.kind == Kind.SESSION_INDEX or is_open:
                    differences += self._find_sessions(source, agent_places)
                elif source.kind == Kind.WORKSPACE_FILE:
                    differences += self._find_version(source, db, home_agent.workspaces)
        self._add(agent_id, differences)

    def compare_home(self, sources: list[Source]) -> None:
        """Compare the rows of sources that belong to the home as a whole."""
        sources = list(filter(self._is_read, sources))
        models = [model for model in tables.list_models(tables.OF_SOURCES) if not is_agent_model(model)]
        self._add("", self._compare("", DEFAULT_DB_ALIAS, models, list(self._list_home_imports(sources))))
        self._compare_artifacts([source for source in sources if source.kind == Kind.ARTIFACT])
        for source in sources:
            with self._contained(source):
                if source.target == EPISODES:
                    self._compare_events(source)
                elif source.kind == Kind.DATABASE:
                    self._compare_state(source)

    def _is_read(self, source):
        """Whether a source has not changed since its last import."""
        book, stat = self.collection.book, stat_regular(source.file)
        if source.state != UNCHANGED or stat is None:
            return False
        if source.kind == Kind.ARTIFACT or source.target == EPISODES:
            return True
        if source.kind == Kind.DATABASE:
            return source_databases.is_known(self.collection, source.file)
        kind = Kind.TRANSCRIPT if source.kind == TRAJECTORY else source.kind
        return book.is_known(kind, source.file, stat, agent_id=source.agent)

    @contextmanager
    def _contained(self, source):
        try:
            yield
        except UNREADABLE as exc:
            self.compared.unreadable[source.name] = source_databases.describe_failure(exc)

    def _add(self, agent_id, differences):
        if differences:
            self.compared.rows.setdefault(agent_id, {})
            self.compared.add_rows(agent_id, "", differences)

    def _list_agent_imports(self, agent_places, sources) -> Iterator[tuple[Source, Import]]:
        for source in sources:
            if source.kind == TRAJECTORY and agent_places.may_read(source.session_id):
                yield source, partial(_import_trajectory, source)
            elif source.target == "indexed_files":
                yield source, partial(_import_memory_index, source)
            elif source is agent_places.of_database and agent_places.database is not None:
                yield source, partial(_import_database, source, agent_places)

    def _list_home_imports(self, sources) -> Iterator[tuple[Source, Import]]:
        for source in sources:
            if source.kind in schedules.WHOLE_FILES:
                yield source, partial(_import_whole_file, source)
            elif source.kind == Kind.DATABASE and source.target != EPISODES:
                yield source, partial(_import_state, source)
            elif source.kind == Kind.CRON_RUNS:
                yield source, partial(_import_run_log, source)

    def _compare(self, name, db, models, imports: list[tuple[Source, Import]]) -> list[RowDifference]:
        """The rows that differ whatever the order in which the sources were read."""
        if not imports:
            return []
        imports.sort(key=_is_run_log)  # an import of a database leaves out the runs of logs that were read
        with self._make_rows(name, imports) as scratch_db:
            differences = self._find_differences(db, scratch_db, models)
            if differences and len(imports) > 1:
                again = [*reversed(imports)]
                again.sort(key=_is_run_log)
                with self._make_rows(f"{name}-again", again) as other:
                    others = {(row.table, row.key): row for row in self._find_differences(db, other, models)}
                differences = [*_intersect(differences, others)]
            if differences and self.is_mending:
                with upkeep.attach_database(db, scratch_db):
                    take_rows(db, differences)
        return differences

    @contextmanager
    def _make_rows(self, name, imports):
        """Import sources into an empty file; yields its alias."""
        needed = int(1.3 * sum(source.size for source, _import_source in imports)) + SCRATCH_BYTES
        room.check(settings.HOME_DIR, needed)
        words = {"agent": name or "*", "size": in_words(needed)}
        self.collection.progress.update(0, None, _("Comparing agent %(agent)s (needs up to %(size)s)") % words)
        file = self.collection.copies.get_path(f"sources-{name}.sqlite")
        contents = file.with_suffix("")
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, contents, ignore_errors=True)
            scratch_db = stack.enter_context(databases.open_scratch_database(file))
            with connections[scratch_db].schema_editor() as editor:
                for model in apps.get_app_config("automation").get_models():
                    editor.create_model(model)
            book = UnreadBook(self.collection.book.root)
            scratch = replace(self.collection, book=book, db=scratch_db, contents=contents)
            for source, import_source in imports:
                with self._contained(source):
                    import_source(scratch, scratch_db)
            yield scratch_db

    def _find_differences(self, db, scratch_db, models):
        if db == DEFAULT_DB_ALIAS:
            _align_runs(scratch_db)
        differences = []
        with upkeep.attach_database(db, scratch_db):
            for model in models:
                table = model._meta.db_table
                rows = compare_rows(db, model, ADDITIONAL.get(table, NONE), without=HISTORICAL.get(table, ()))
                differences += filter(partial(self._is_ours, db, model), rows)
        return differences

    def _is_ours(self, db, model, difference):
        """Whether a row is none of another OpenClaw home that has the same id."""
        if db != DEFAULT_DB_ALIAS or difference.problem != DIFFERENT:
            return True
        place = dict(zip(list_keys(model), difference.key, strict=True))
        agent_id = model._default_manager.filter(**place).values_list("agent_id", flat=True).first()
        return agent_id in self.names.values() or not Agent.objects.filter(agent_id=agent_id).exists()

    def _find_sessions(self, source, agent_places):
        """Sessions of an index that have no row. Those that had records are compared as sessions."""
        runs = SkippedSource.objects.filter(agent_id=agent_places.agent_id, reason=SkippedSource.Reason.REMOVED_RUN)
        noted = {*holdings.read_holdings(agent_places.agent_id), *runs.values_list("session_id", flat=True)}
        entries = read_storable_entries(self.collection, source, agent_places)
        entries = [entry for entry in entries if entry.session_id not in noted]
        known = SESSIONS.held(agent_places.db, [(entry.session_id,) for entry in entries])
        lost = [entry for entry in entries if (entry.session_id,) not in known]
        if lost and self.is_mending:
            index_rows.store_index(agent_places.db, lost)
        return [RowDifference("sessions", (entry.session_id,), MISSING) for entry in lost]

    def _find_version(self, source, db, folders):
        """The present content of a workspace file, when no stored version has it."""
        entry = workspaces.find_entry(folders, source.file)
        data = workspaces.read_content(entry) if entry else None
        if data is None or guardian.has_version(db, entry.name, data):
            return []
        if self.is_mending:
            guardian.store_version(db, entry.name, data, modified_ms=modified_ms(entry.mtime_ns))
        return [RowDifference(guardian.find_versions(db, entry.name).model._meta.db_table, (entry.name,), MISSING)]

    def _compare_artifacts(self, sources):
        """Contents of openclaw-mem's store, of which every agent of the home has a row."""
        by_handle = {handles.from_sha256(source.content.sha256): source.content for source in sources}
        for agent_id in sorted(self.names.values()) if by_handle else ():
            db = databases.find_alias(agent_id)
            if db is not None:
                known = ARTIFACTS.held(db, [(handle,) for handle in by_handle])
                contents = [content for handle, content in by_handle.items() if (handle,) not in known]
                lost = [content for content in contents if not mem_store.problem_of(content)]
                for content in lost if self.is_mending else ():
                    folder_import.import_contents(db, content.root, [content.sha256], most=mem_store.MOST_BYTES)
                rows = [RowDifference("artifacts", (handles.from_sha256(each.sha256),), MISSING) for each in lost]
                self._add(agent_id, rows)

    def _compare_events(self, source):
        """Events of openclaw-mem's ledger that are missing. The contents of stored ones have hashes."""
        with source_databases.open_copy(self.collection, source.file, openclaw_mem.TABLES) as database:
            lost = defaultdict(list)
            for db, rows in episode_import.preview(self.collection, database):
                keys = [(row.event_id,) for row in rows if row.event_id]
                if db is not None:
                    lost[db] += sorted(set(keys) - EVENTS.held(db, keys))
        for agent_id in self.names.values():
            keys = lost.get(databases.find_alias(agent_id), ())
            self._add(agent_id, [RowDifference(EPISODES, key, MISSING) for key in keys])
        if any(lost.values()) and self.is_mending:
            episode_import.collect(replace(self.collection, is_again=True))

    def _compare_state(self, source):
        """Files whose newest row is not the record that OpenClaw has, and ends of tool calls that are missing.

        The rows before those of files are history.
        """
        known = Agent.objects.in_bulk(
            filter(databases.find_alias, self.names.values())
        )  # the file may wait for an update
        agents = {name: known[agent_id] for name, agent_id in self.names.items() if agent_id in known}
        collection = replace(self.collection, agents=agents)
        read = [
            agent
            for agent in agents.values()
            if any(
                home_state.is_provenance_known(replace(collection, only=only), source.file)
                for only in (None, agent.agent_id)
            )
        ]
        with source_databases.open_copy(collection, source.file, STATE, extracts=(PROVENANCE,)) as database:
            assigned, _is_whole = home_state.read_provenance(collection, database)
            tool_ends = home_state.read_tool_ends(collection, database)
        for agent, steps in tool_ends:
            keys = [(step.id,) for step in steps if agent in read]
            lost = sorted(set(keys) - STEPS.held(agent.db, keys))
            if lost and self.is_mending:
                extras_store.store_steps(agent.db, steps)
            self._add(agent.agent_id, [RowDifference("trajectory_events", key, MISSING) for key in lost])
        for agent in read:
            records = assigned.get(agent.agent_id, {})
            changed = provenance.find_changed(agent.db, records)
            if changed and self.is_mending:
                provenance.store_records(agent, changed, is_whole=False)
            self._add(agent.agent_id, [RowDifference("provenance_records", (name,), DIFFERENT) for name in changed])


def _is_run_log(pair):
    return pair[0].kind == Kind.CRON_RUNS


def _intersect(differences, others):
    """Differences that are also among `others`, by table and key; of these the columns that differ in both."""
    for row in differences:
        other = others.get((row.table, row.key))
        if other is None or other.problem != row.problem:
            continue
        columns = tuple(name for name in row.columns if name in other.columns)
        if columns or not row.columns:
            yield replace(row, columns=columns)


def _import_trajectory(source, collection, db):
    with open_regular(collection.home.root, source.file) as file:
        steps = trajectories.read_steps(jsonl.read_lines(file))
        extras.store_steps(collection, collect.AgentReport(), db, steps)


def _import_memory_index(source, collection, db):
    extras.store_memory_index(collection, source.file, ScratchAgent(source.agent, db), collect.AgentReport())


def _import_database(source, agent_places, collection, db):
    agent, report = ScratchAgent(source.agent, db), collect.AgentReport()
    reader = agent_database.Source(collection, source.file, agent, report, None, agent_places.database)
    extras.collect_database(reader, agent_places.may_read)
    if report.notes:
        raise DamagedDatabase(report.notes[0])


def _import_whole_file(source, collection, _db):
    schedules.store_whole_file(collection, source.kind, source.file)


def _import_run_log(source, collection, db):
    job_id = source.file.name.removesuffix(schedules.MIGRATED_SUFFIX).removesuffix(".jsonl")
    owner = schedules.find_job_owner(collection, job_id)
    rows = schedules.read_whole_log(collection, source.file, job_id, owner)
    schedules.store_log_runs(job_id, [row for row in rows if row is not None], db=db)


def _import_state(source, collection, _db):
    with source_databases.open_copy(collection, source.file, STATE) as database:
        home_state.store_tables(collection, database, defaultdict(int))


def _align_runs(scratch_db):
    """Give runs that were made the places of the stored ones.

    A place in a log depends on how the log changed, and a run that is in a log and in a database is stored once.
    """
    made_runs = CronRunLog.objects.using(scratch_db)
    for job_id in sorted(set(made_runs.values_list("job_id", flat=True))):
        places, ends, logged_starts, starts = defaultdict(list), {}, set(), set()
        stored = CronRunLog.objects.filter(job_id=job_id).order_by("seq").values_list("seq", "ts", "entry_json")
        for seq, end, entry in stored.iterator():
            ends[seq] = end
            if seq < schedules.FIRST_TIME:
                places[entry].append(seq)
                logged_starts.add(home_state.parse_began_at(entry))
            else:
                starts.add(seq)
        rows, unmatched = {}, []
        for row in made_runs.filter(job_id=job_id).order_by("seq"):
            own = places[row.entry_json] if row.seq < schedules.FIRST_TIME else [row.seq] * (row.seq in ends)
            if own:
                row.seq = row.seq if row.seq in own else own[0]
                own.remove(row.seq)
                rows[row.seq] = row
            else:
                unmatched.append(row)
        for row in unmatched:
            if row.seq >= schedules.FIRST_TIME:
                if row.seq not in logged_starts:
                    rows[row.seq] = row
            elif (began_at := home_state.parse_began_at(row.entry_json)) not in starts:
                # At its own place, when the text of a stored run is damaged, but not in the place of another run.
                while row.seq in rows or ends.get(row.seq, row.ts) != row.ts:
                    row.seq += 1
                rows[row.seq] = row
                logged_starts.add(began_at)
        made_runs.filter(job_id=job_id).delete()
        made_runs.bulk_create(rows.values(), batch_size=500)
