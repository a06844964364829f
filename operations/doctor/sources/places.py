"""Places of an agent's records: files, databases and archives, in the order of an import."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agents import databases, holdings
from agents.homes import NotReadable, open_regular
from agents.models import Agent, CollectorSource
from collecting import collect
from collecting.inventory.transcripts import PACKED
from collecting.stages import agent_database as collect_agent_database
from collecting.stages import consent
from collecting.stages import source_databases as collect_databases
from collecting.stages.removals import exclude_removed
from ledger.collectors import agent_database, database_schemas, jsonl, zstd_input
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.jsonl import Line
from ledger.models import RemovedSession, Session
from ledger.transcripts import removal

from .home_sources import LEFT, LEFTOVER, Source
from .rejects import RejectedLines, reject, report_failures
from .skipped_places import get_skip_reason

Kind = CollectorSource.Kind
END = 2**63 - 1  # past every offset
MayRead = Callable[[str], bool]
Lines = Callable[[int], Iterator[Line]]


@dataclass(slots=True)
class Place:
    """A place with records of a session. `lines(start)` reads it; raises NotReadable or DamagedDatabase.

    An import reads records from `begin` on.
    """

    source: Source
    session_id: str
    lines: Lines
    begin: int = 0
    bytes: int = 0


@dataclass(slots=True)
class AgentPlaces:
    """The places of an agent's records by session, its open database, and readable sessions."""

    agent_id: str
    db: str | None  # None: there is no file of ours that can be read
    may_read: MayRead
    by_session: dict[str, list[Place]] = field(default_factory=dict)
    database: Database | None = None
    of_database: Source | None = None

    def add(self, place: Place) -> None:
        """Add a place, after those that are read before it."""
        self.by_session.setdefault(place.session_id, []).append(place)


@contextmanager
def open_agent_places(
    collection: Any,
    home_agent: Any,
    agent_id: str,
    own: list[Source],
    rejected: RejectedLines,
    *,
    is_deep: bool = False,
) -> Iterator[AgentPlaces]:
    """Open the places of one agent, whose sources are `own`.

    With `is_deep`, unchanged databases are opened too. A source that cannot be read says so in `problem`, and in
    `rejected` when an import would report it too.
    """
    with ExitStack() as stack:
        files = [source for source in own if source.kind in (Kind.TRANSCRIPT, LEFTOVER)]
        sources = [source for source in own if source.kind == Kind.DATABASE and source.target == "transcript_events"]
        own_database = next((source for source in sources if source.file == home_agent.database), None)
        db = databases.find_alias(agent_id)
        removed = removal.read_all_removed_ids(db) if db else _find_removed(agent_id)
        agent_places = AgentPlaces(agent_id, db, lambda _session_id: True, of_database=own_database)
        if own_database is not None and (own_database.is_to_read or is_deep):
            agent_places.database = _open_database(stack, collection, own_database, rejected)
        may_read = _build_permission(collection, home_agent, agent_id, agent_places.database)
        for source in sources:
            if source is not own_database and (source.is_to_read or is_deep):
                other_places = AgentPlaces(
                    agent_id, db, agent_places.may_read, agent_places.by_session, of_database=source
                )
                other_places.database = _open_database(stack, collection, source, rejected)
                _add_places(collection, other_places, [], may_read, removed)
        _add_places(collection, agent_places, files, may_read, removed)
        agent_places.may_read = exclude_removed(removed, may_read)
        yield agent_places


def _find_removed(agent_id):
    """The removed sessions of an agent whose own file is missing."""
    whys = {why.value for why in RemovedSession.Why}
    return {session_id for session_id, why in holdings.read_removed(agent_id).items() if why in whys}


def _open_database(stack, collection, source, rejected):
    with report_failures(source, rejected):
        database = stack.enter_context(collect_databases.open_copy(collection, source.file, AGENT))
        fill_schema(source, database)
        for session in agent_database.read_session_counts(database):
            if source.is_to_read and not session.session_id:
                reject(source, rejected, 0, "bad_session", "")
            elif source.is_to_read and session.misplaced:
                reject(source, rejected, 0, "bad_seq", session.session_id)
        return database
    return None


def fill_schema(source: Source, database: Database) -> None:
    """Set the version of a database's source, and the tables that are not read, with reasons."""
    source.version = str(database.version)
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    names = [agent_database.decode_text(name) for (name,) in database.ask(sql)]
    source.skipped_tables = [
        {"name": name, "why": get_skip_reason(name)} for name in names if name not in database.columns
    ]
    schemas = (database_schemas.AGENT, database_schemas.STATE)
    if schema := next((each for each in schemas if each.tables.items() <= database.allowed.items()), None):
        source.unread = database_schemas.find_unread_parts(database, schema).as_json()


def _build_permission(collection, home_agent, agent_id, database) -> MayRead:
    entries = []
    if database is not None and collection.opted_out:
        entries = agent_database.read_index(database).entries
        archived = map(agent_database.build_archived_entry, agent_database.read_archives(database))
        entries += [entry for entry in archived if entry is not None]
    agent, report = Agent(agent_id=agent_id), collect.AgentReport()
    may_read = consent.build_permission(collection, home_agent, agent, report, entries)
    return consent.exclude_ignored(collection, agent, report, may_read)


def _add_places(collection, agent_places, files, may_read, removed):
    names: set[str] = set()
    # Called when a place is added: sessions with new records leave `removed`.
    allowed = exclude_removed(removed, may_read)
    try:
        if agent_places.database is not None:
            _add_archives(collection, agent_places, allowed, names)
        transcripts = [source for source in files if source.kind == Kind.TRANSCRIPT]
        _add_files(collection, agent_places, transcripts, allowed, removed, names)
        if agent_places.database is not None:
            _add_database_sessions(collection, agent_places, allowed, removed)
    except DamagedDatabase as exc:
        agent_places.of_database.problem = str(exc)
    # Add files that OpenClaw has imported into its database, for sessions that the database lost.
    known = _find_database_sessions(collection, agent_places)
    for source in files:
        if source.kind != LEFTOVER:
            continue
        if source.is_to_read and source.session_id in known:
            source.state, source.why = LEFT, "imported"
        if source.is_to_read and allowed(source.session_id):
            agent_places.add(_build_file_place(collection, source))


def _add_archives(collection, agent_places, allowed, names):
    source, database, book = agent_places.of_database, agent_places.database, collection.book
    for archive in agent_database.read_archives(database):
        names.add(archive.name)
        was_read = book.part(f"{source.name}!{archive.session_id}/{archive.generation}") is not None
        is_wanted = collection.include_deleted or archive.reason == agent_database.COLD
        is_new = source.is_to_read and is_wanted and not was_read
        if is_new and allowed(archive.session_id):
            lines = _build_archive_reader(collection, source, database, archive)
            agent_places.add(Place(source, archive.session_id, lines))


def _build_archive_reader(collection, source, database, archive) -> Lines:
    def lines(_start):
        root = collection.home.root
        with collect_agent_database.open_archive(root, source.file, database, archive) as opened:
            yield from agent_database.read_archived_lines(archive, opened)

    return lines


def _add_files(collection, agent_places, files, allowed, removed, names):
    for source in files:
        if source.is_to_read and source.session_id in removed and _has_new_records(collection, source):
            removed.discard(source.session_id)
    for source in files:
        if source.is_to_read and source.file.name not in names and allowed(source.session_id):
            agent_places.add(_build_file_place(collection, source))


def _has_new_records(collection, source):
    """Whether a removed transcript has new records, as `removals.filter_files` decides."""
    offset = collection.book.offset(Kind.TRANSCRIPT, source.file)
    if is_packed(source) or not offset:
        return False
    try:
        with open_regular(collection.home.root, source.file) as opened:
            why = collection.book.find_position(Kind.TRANSCRIPT, source.file, opened).why
    except NotReadable:
        return False
    return why == "appended" or (why == "replaced" and source.stat.st_size > offset)


def _build_file_place(collection, source):
    """The place of a file, from the offset on where an import continues."""
    begin = 0
    if not is_packed(source):
        try:
            with open_regular(collection.home.root, source.file) as opened:
                begin = collection.book.find_position(Kind.TRANSCRIPT, source.file, opened).offset
        except NotReadable as exc:
            source.problem = str(exc)
    lines = build_line_reader(collection.home.root, source)
    return Place(source, source.session_id, lines, begin, source.stat.st_size - begin)


def is_packed(source: Source) -> bool:
    """Whether a file is packed; such a file is complete and read from its start."""
    return source.file.suffix == PACKED


def build_line_reader(root: Path, source: Source) -> Lines:
    """Build the reader of a transcript file's lines."""

    def lines(start):
        with open_regular(root, source.file) as opened:
            if is_packed(source):
                yield from zstd_input.read_packed_lines(opened)
            else:
                is_closed = source.session_state not in ("", Session.State.LIVE)
                yield from jsonl.read_lines(opened, start, is_closed=is_closed)

    return lines


def _add_database_sessions(collection, agent_places, allowed, removed):
    source, database, book = agent_places.of_database, agent_places.database, collection.book
    contents = list(agent_database.read_session_counts(database))
    per_record = source.size / (sum(session.count for session in contents) or 1)
    generations = agent_database.read_generations(database)
    for session in contents:
        part = book.part(f"{source.name}#{session.session_id}")
        if session.session_id in removed and source.is_to_read and part and session.last_seq + 1 > part.end:
            removed.discard(session.session_id)
            part = None
        if not session.session_id or not allowed(session.session_id):
            continue
        mark = generations.get(session.session_id, "")
        mark = mark or agent_database.hash_prefix(database, session.session_id, part.end if part else 0)
        why = collect_agent_database.find_read_reason(part, session, mark)
        if source.is_to_read and why != "unchanged":
            read = part.end if part and why == "appended" else 0
            size = int(per_record * session.count)
            lines = partial(agent_database.read_events, database, session.session_id)
            agent_places.add(Place(source, session.session_id, lines, read, size))


def _find_database_sessions(collection, agent_places) -> set[str]:
    """Sessions that an import knows from the database or its archives before it reads leftovers."""
    source = agent_places.of_database
    if source is None:
        return set()
    book = collection.book
    known = {name.removeprefix(f"{source.name}#") for name in book.parts(f"{source.name}#")}
    known |= {name.removeprefix(f"{source.name}!").partition("/")[0] for name in book.parts(f"{source.name}!")}
    return known | {
        place.session_id for places in agent_places.by_session.values() for place in places if place.source is source
    }
