"""Imports an agent's own database: session index, records of sessions, and archives."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.homes import NotReadable, open_regular, stat_regular
from agents.models import CollectorSource
from agents.sources import DatabasePart
from ledger import index_rows, prompt_workspaces
from ledger.collectors import agent_database, database_schemas
from ledger.collectors.agent_database import Archive, SessionCounts
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.records import parse_moment_ms
from ledger.collectors.session_index import IndexEntry
from ledger.models import Session
from ledger.outputs.output_stash import Outputs
from ledger.transcripts import transcript_store
from openclaw_web.clock import now_ms
from openclaw_web.sqlite import failures

from . import consent, holding_checks, source_databases
from .batches import PendingSource, open_batch, open_outputs
from .guard import contain_failures
from .source_databases import Stats, UnreadableDatabase

Kind = CollectorSource.Kind
GROUP_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class DatabasePlan:
    """Whether an agent's database has to be read, found without opening it."""

    source: Path | None
    is_unchanged: bool = True
    bytes_to_read: int = 0


def plan_database(collection: Any, source: Path | None) -> DatabasePlan:
    """Compare an agent's database with earlier imports."""
    if source is None or source_databases.is_known(collection, source):
        return DatabasePlan(source)
    return DatabasePlan(source, is_unchanged=False, bytes_to_read=source_databases.get_copy_size(source))


@dataclass(slots=True)
class Source:
    """An agent's database during its import; without `database` there is nothing to read."""

    collection: Any
    path: Path | None
    agent: Any
    report: Any
    plan: Any  # the plan of the agent, which notes read sources
    database: Database | None = None
    stats: Stats | None = None
    entries: list[IndexEntry] = field(default_factory=list)
    put_away: dict[str, IndexEntry] = field(default_factory=dict)  # entries of sessions that only an archive names
    names: set[str] = field(default_factory=set)  # files whose records the database has too
    short: set[str] = field(default_factory=set)  # sessions that lost records: they are rebuilt
    mended: frozenset[str] = frozenset()  # sessions that were rebuilt
    is_whole: bool = True  # no part of it has to be read again
    was_opened: bool = False
    problem: str = ""  # why it was not read
    skipped_archives: dict[str, str] = field(default_factory=dict)  # sessions of archives that are not read -> reason
    index_entries: list[IndexEntry] = field(default_factory=list)  # with the keys of its index
    unusable: list[str] = field(default_factory=list)  # keys without a session
    has_nodes: bool = False  # whether its index names any session

    @property
    def live(self) -> set[str]:
        """Sessions whose records were read from the database."""
        start = self.prefix
        return {name.removeprefix(start) for name in self.collection.book.parts(start)} if start else set()

    @property
    def known(self) -> set[str]:
        """Sessions that were read from the database or its archives."""
        start = f"{self.collection.book.name(self.path)}!" if self.path else ""
        names = self.collection.book.parts(start) if start else []
        return self.live | {name.removeprefix(start).partition("/")[0] for name in names}

    @property
    def prefix(self) -> str:
        """The prefix of the names of the database's transcripts."""
        return f"{self.collection.book.name(self.path)}#" if self.path else ""

    def read_index(self) -> None:
        """Update sessions from nodes and windows, without people who opted out."""
        with self.reading() as database:
            if database is None:
                return
            index = agent_database.read_index(database)
            named = {index_entry.session_id for index_entry in index.entries}
            for archive in agent_database.read_archives(database):
                entry = agent_database.build_archived_entry(archive)
                if entry is not None and entry.session_id not in named:
                    self.put_away[entry.session_id] = entry
            prompt_workspaces.store_newest(self.agent, self.agent.home_name, index.entries)
            storable = consent.filter_entries(self.collection, self.agent, self.report, index.entries)
            self.report.sessions_indexed += index_rows.store_index(self.agent.db, storable)
            self.entries = [*index.entries, *self.put_away.values()]
            self.index_entries, self.unusable = index.entries, index.unnamed
            self.has_nodes = index.has_nodes
            if index.unusable:
                detail = ngettext(
                    "%(count)s entry is not a JSON object", "%(count)s entries are not JSON objects", index.unusable
                )
                self._reject("bad_index", detail % {"count": index.unusable})

    def read_archives(self, may_read: Callable[[str], bool]) -> None:
        """Read archived sessions, or only note that they are archived."""
        with self.reading() as database:
            if database is None:
                return
            live = {session.session_id for session in agent_database.read_session_counts(database)}
            with open_outputs(self.collection, self.agent, self.report) as outputs:
                for archive in agent_database.read_archives(database):
                    self.names.add(archive.name)
                    is_cold = archive.reason == agent_database.COLD  # the session was only moved away, not deleted
                    state = Session.State.LIVE if is_cold or archive.session_id in live else archive.reason
                    is_wanted = is_cold or self.collection.include_deleted
                    if not is_wanted:
                        self.report.transcripts[f"skipped_{archive.reason}"] += 1
                        self.skipped_archives[archive.session_id] = archive.reason
                        transcript_store.mark_state(self.agent.db, archive.session_id, state)
                    elif may_read(archive.session_id):
                        with self.guarding(archive.session_id):
                            self._read_archive(database, archive, state, outputs)

    def read_transcripts(self, may_read: Callable[[str], bool]) -> None:
        """Read the new records of every session."""
        with self.reading() as database:
            if database is None:
                return
            contents = list(agent_database.read_session_counts(database))
            per_record = source_databases.get_copy_size(self.path) / (sum(session.count for session in contents) or 1)
            generations = agent_database.read_generations(database)
            for group in _group_sessions(contents, per_record):
                with open_outputs(self.collection, self.agent, self.report) as outputs:
                    self._write_ahead(database, group, may_read, outputs)
                    with open_batch(self.collection.book, self.agent, self.plan) as batch:
                        for session in group:
                            size = int(per_record * session.count)
                            self._reject_odd(session)
                            if session.session_id and may_read(session.session_id):
                                generation = generations.get(session.session_id, "")
                                self._add_session(batch, database, session, generation, outputs, size)
                            self.collection.add_bytes(size)
            for gone in self.live - {session.session_id for session in contents}:
                self.collection.book.forget_part(self.prefix + gone)

    def open(self, stack: ExitStack) -> None:
        """Open a copy of the database; a failure is noted in the report."""
        self.stats = source_databases.read_stats(self.path)
        try:
            database = stack.enter_context(source_databases.open_copy(self.collection, self.path, AGENT))
        except UnreadableDatabase as exc:
            self._note_failure(exc.reason, str(exc))
            return
        self.database, self.was_opened = database, True
        with self.reading():
            source_databases.note_unread(self.collection, self.path, database, database_schemas.AGENT)

    def finish(self) -> None:
        """Note that the database was read completely."""
        if self.database is None or not self.is_whole:
            return
        remember = partial(source_databases.note_read, self.collection, self.path, self.stats, self.agent.agent_id)
        if self.plan.unsettled:
            self.plan.unsettled.append(remember)
        else:
            remember()

    @contextmanager
    def guarding(self, part: str) -> Iterator[None]:
        """Contain a failure of the block; the database is then read again next time."""
        with contain_failures(
            self.report, f"{self.collection.book.name(self.path)} {part}", "unreadable_session"
        ) as failed:
            yield
        self.is_whole = self.is_whole and not failed

    def _write_ahead(
        self, database: Database, group: list[SessionCounts], may_read: Callable[[str], bool], outputs: Outputs
    ):
        """Write the outputs of new sessions before their records.

        With somebody opted out, it is not known yet which of them are stored.
        """
        if self.collection.opted_out or outputs.batch is None:
            return
        for session in group:
            is_new = session.session_id and self.collection.book.part(self.prefix + session.session_id) is None
            if is_new and may_read(session.session_id):
                outputs.write_ahead(agent_database.read_raw_events(database, session.session_id))

    def _reject_odd(self, session):
        if not session.session_id:
            self._reject("bad_session", _("a session has an invalid id"))
        elif session.misplaced:
            detail = ngettext(
                "%(count)s record has no valid seq", "%(count)s records have no valid seq", session.misplaced
            )
            self._reject("bad_seq", detail % {"count": session.misplaced}, part=f"#{session.session_id}")

    def _add_session(self, batch, database, session, generation, outputs, size):
        with self.guarding(session.session_id):
            if source := self._build_source(database, session, generation, outputs, size):
                batch.add(source)

    def _build_source(
        self, database: Database, session: SessionCounts, generation: str, outputs: Outputs, size: int
    ) -> PendingSource | None:
        """The source of a session's new records; None when none are read now."""
        book, name = self.collection.book, self.prefix + session.session_id
        part = book.part(name)
        mark = generation or agent_database.hash_prefix(database, session.session_id, part.end if part else 0)
        why = find_read_reason(part, session, mark)
        if why == "unchanged":
            self.report.transcripts[why] += 1
            return None
        if self._is_short(session.session_id):
            return None
        start = part.end if part and why == "appended" else 0
        has_others = book.has_others(self.agent.agent_id, session.session_id, name)

        def store(batch):
            lines = agent_database.read_events(database, session.session_id, start)
            transcript = self._build_transcript(session.session_id, name)
            transcript.goes_on, transcript.has_others, transcript.batch = start > 0, has_others, batch
            return transcript_store.store_transcript(self.agent.db, transcript, lines, outputs=outputs)

        def save(stored):
            end = max(stored.end, start)
            mark = generation or agent_database.hash_prefix(database, session.session_id, end)
            book.save_part(name, DatabasePart(end, session.count, mark), agent_id=self.agent.agent_id)

        done, guarding = partial(self._count_records, why), partial(self.guarding, session.session_id)
        return PendingSource(session.session_id, size, has_others, store, save, done, guarding)

    def _is_short(self, session_id):
        """Whether a session lost records; it is then rebuilt, and read further afterwards."""
        if not holding_checks.is_missing_records(self.agent, session_id, self.mended):
            return False
        self.short.add(session_id)
        self.is_whole = False
        return True

    def _read_archive(self, database: Database, archive: Archive, state: str, outputs: Outputs) -> None:
        book = self.collection.book
        name = f"{book.name(self.path)}!{archive.session_id}/{archive.generation}"
        if book.part(name):
            self.report.transcripts["unchanged"] += 1
            return
        if self._is_short(archive.session_id):
            return
        transcript = self._build_transcript(archive.session_id, name, state, archive.created_at)
        transcript.has_others = book.has_others(self.agent.agent_id, archive.session_id, name)
        try:
            with open_archive(self.collection.home.root, self.path, database, archive) as file:
                if problem := agent_database.problem_of(archive, file):
                    self._refuse_archive(archive, problem)
                    return
                lines = agent_database.read_archived_lines(archive, file)
                stored = transcript_store.store_transcript(self.agent.db, transcript, lines, outputs=outputs)
        except NotReadable as exc:
            self._refuse_archive(archive, f"{archive.name}: {exc}")
            return
        self._count_records("new", stored)
        if archive.session_id in self.put_away:
            index_rows.store_index(self.agent.db, [self.put_away[archive.session_id]])
        part = DatabasePart(stored.end, stored.records, "")
        save = partial(self._save_archive, archive, name, part)
        self.plan.note(book, self.agent, [(archive.session_id, stored, save)])

    def _save_archive(self, archive: Archive, name: str, part: DatabasePart) -> None:
        self.collection.book.save_part(name, part, agent_id=self.agent.agent_id)
        file = self.path.parent.parent / agent_database.get_archive_path(archive)
        if archive.reason == agent_database.COLD and (stat := stat_regular(file)):
            owner = {"agent_id": self.agent.agent_id, "session_id": archive.session_id}
            self.collection.book.save(Kind.TRANSCRIPT, file, stat, offset=stat.st_size, **owner)
            self.plan.accounts.note_read(file)

    def _refuse_archive(self, archive, problem):
        """Report a missing or different archive; it is tried again next time."""
        self._reject(agent_database.BAD_ARCHIVE, problem, part=f"!{archive.session_id}/{archive.generation}")
        self.is_whole = False

    def _build_transcript(self, session_id, name, state=Session.State.LIVE, created_at=None):
        modified = (self.stats[0] and parse_moment_ms(self.stats[0].st_mtime_ns // 1_000_000)) or now_ms()
        entry = self.put_away.get(session_id)
        key = entry.session_key if entry else ""
        return transcript_store.Transcript(
            session_id, name, created_at or modified, state, self.collection.opted_out, key
        )

    def _count_records(self, why, stored):
        self.report.transcripts[why] += 1
        self.report.records += stored.kinds
        self.report.rejected += stored.rejected
        self.report.withheld += stored.withheld
        self.report.unknown_envelopes += stored.unknown_envelopes
        self.report.repeated += stored.repeated

    @contextmanager
    def reading(self) -> Iterator[Database | None]:
        """Yield the database; when it is damaged, its reading ends and the import continues."""
        try:
            yield self.database
        except DamagedDatabase as exc:
            self._note_failure("bad_database", failures.translate_message(str(exc)))

    def _note_failure(self, reason, detail):
        self.database = None
        self.problem = detail
        words = {"file": self.collection.book.name(self.path), "reason": detail}
        self.report.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        if reason == "bad_database":
            self._reject(reason, detail)
        else:
            self.report.rejected[reason] += 1

    def _reject(self, reason, detail, part=""):
        self.report.rejected[reason] += 1
        source_databases.store_rejection(self.collection, self.agent, self.path, reason, detail, part=part)


def open_archive(root: Path, source: Path, database: Database, archive: Archive) -> BinaryIO:
    """Open an archive of the database `source`, from its row or its file. Raises NotReadable."""
    blob = agent_database.read_blob(database, archive)
    if blob is not None:
        return io.BytesIO(blob)
    return open_regular(root, source.parent.parent / agent_database.get_archive_path(archive))


@contextmanager
def open_source(collection: Any, plan: DatabasePlan, agent: Any, report: Any) -> Iterator[Source]:
    """Open an agent's database; it is noted as read when the block succeeds."""
    source = Source(collection, plan.database.source, agent, report, plan)
    with ExitStack() as stack:
        if plan.database.is_unchanged:
            report.transcripts["unchanged"] += len(source.live)
        else:
            source.open(stack)
        yield source
        source.finish()


def _group_sessions(contents: list[SessionCounts], per_record: float) -> Iterator[list[SessionCounts]]:
    """Group sessions whose outputs are synced together.

    Syncing each alone would take longer than everything else.
    """
    group: list[SessionCounts] = []
    size = 0.0
    for session in contents:
        group.append(session)
        size += per_record * session.count
        if size >= GROUP_BYTES:
            yield group
            group, size = [], 0.0
    if group:
        yield group


def find_read_reason(part: DatabasePart | None, session: SessionCounts, mark: str) -> str:
    """The reason why a session of a database is read; `unchanged` when it is not."""
    if part is None:
        return "new"
    if part.mark != mark:
        return "replaced"
    if session.last_seq + 1 < part.end:
        return "truncated"
    if (session.last_seq + 1, session.count) == (part.end, part.count):
        return "unchanged"
    return "appended" if session.last_seq + 1 > part.end else "replaced"
