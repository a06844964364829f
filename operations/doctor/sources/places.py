"""Where the records of an agent's sessions are: every file, database and archive, in the order a collect reads them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
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
from collecting.stages.source_databases import UnreadableDatabase
from ledger.collectors import agent_database, database_schemas, jsonl, zstd_input
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.jsonl import Line
from ledger.models import RemovedSession, Session
from ledger.transcripts import removal
from openclaw_web.sqlite import failures

from .home_sources import LEFT, LEFTOVER, Source
from .rejects import RejectedLines, reject
from .skipped_places import get_skip_reason

Kind = CollectorSource.Kind
END = 2**63 - 1  # past every offset
MayRead = Callable[[str], bool]
Lines = Callable[[int], Iterator[Line]]


@dataclass(slots=True)
class Place:
    """One place where records of a session are. `lines(start)` reads it, and raises NotReadable or Damaged.

    A collect reads what begins at `begin` or after it, nothing when that is None. What begins before `until` has been
    read, so the store has it.
    """

    source: Source
    session_id: str
    lines: Lines
    begin: int | None
    until: int = 0
    bytes: int = 0


@dataclass(slots=True)
class AgentPlaces:
    """One agent looked at: where its records are by session, its opened database, and whose sessions may be read."""

    agent_id: str
    db: str | None  # None: there is no file of ours that can be read
    may_read: MayRead
    by_session: dict[str, list[Place]] = field(default_factory=dict)
    database: Database | None = None
    of_database: Source | None = None

    def add(self, place: Place) -> None:
        """Take a place in, after those that are read before it."""
        self.by_session.setdefault(place.session_id, []).append(place)


@contextmanager
def open_agent_places(
    collection: Any, found: Any, agent_id: str, own: list[Source], rejected: RejectedLines, *, is_deep: bool = False
) -> Iterator[AgentPlaces]:
    """The places of one agent, whose sources are `own`; with `is_deep` also those that have not changed.

    What cannot be read says so in `problem` of its source, and in `rejected` when a collect will say so too.
    """
    with ExitStack() as stack:
        files = [source for source in own if source.kind in (Kind.TRANSCRIPT, LEFTOVER)]
        sources = [one for one in own if one.kind == Kind.DATABASE and one.target == "transcript_events"]
        mine = next((one for one in sources if one.file == found.database), None)
        db = find_alias(agent_id)
        removed = removal.read_all_removed_ids(db) if db else _removed(agent_id)
        looked = AgentPlaces(agent_id, db, lambda _session_id: True, of_database=mine)
        if mine is not None and (mine.is_to_read or is_deep):
            looked.database = _opened(stack, collection, mine, rejected)
        may_read = _consent(collection, found, agent_id, looked.database)
        for source in sources:
            if source is not mine and (source.is_to_read or is_deep):
                beside = AgentPlaces(agent_id, db, looked.may_read, looked.by_session, of_database=source)
                beside.database = _opened(stack, collection, source, rejected)
                _places(collection, beside, [], may_read, removed, is_deep)
        _places(collection, looked, files, may_read, removed, is_deep)
        looked.may_read = _without(may_read, removed)
        yield looked


def _removed(agent_id):
    """The sessions that were removed, of an agent whose own file cannot say so any more."""
    whys = {why.value for why in RemovedSession.Why}
    return {session_id for session_id, why in holdings.read_removed(agent_id).items() if why in whys}


def find_alias(agent_id: str) -> str | None:
    """The alias of an agent's file; None when there is none, or none that this program can read."""
    return databases.find_alias(agent_id)


def _opened(stack, collection, source, rejected):
    try:
        database = stack.enter_context(collect_databases.open_copy(collection, source.file, AGENT))
        fill_schema(source, database)
        for one in agent_database.read_session_counts(database):
            if source.is_to_read and not one.session_id:
                reject(source, rejected, 0, "bad_session", "")
            elif source.is_to_read and one.misplaced:
                reject(source, rejected, 0, "bad_seq", one.session_id)
    except UnreadableDatabase as exc:
        source.problem = str(exc)
        reject(source, rejected, 0, exc.reason, str(exc))
    except DamagedDatabase as exc:
        source.problem = failures.translate_message(str(exc))
        reject(source, rejected, 0, "bad_database", source.problem)
    else:
        return database
    return None


def fill_schema(source: Source, database: Database) -> None:
    """Write down what a database says of itself, and every table of it that is not read, by name, and why."""
    source.version = str(database.version)
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    names = [agent_database.decode_text(name) for (name,) in database.ask(sql)]
    source.skipped_tables = [
        {"name": name, "why": get_skip_reason(name)} for name in names if name not in database.columns
    ]
    if schema := next(
        (each for each in (database_schemas.AGENT, database_schemas.STATE) if each.tables is database.allowed), None
    ):
        source.unread = database_schemas.find_unread_parts(database, schema).as_json()


def _consent(collection, found, agent_id, database) -> MayRead:
    entries = []
    if database is not None and collection.opted_out:
        entries = agent_database.read_index(database).entries
        archived = map(agent_database.build_archived_entry, agent_database.read_archives(database))
        entries += [entry for entry in archived if entry is not None]
    agent, report = Agent(agent_id=agent_id), collect.AgentReport()
    may_read = consent.build_permission(collection, found, agent, report, entries)
    return consent.exclude_ignored(collection, agent, report, may_read)


def _without(may_read, removed) -> MayRead:
    return lambda session_id: session_id not in removed and may_read(session_id)


def _places(collection, looked, files, may_read, removed, is_deep):
    names: set[str] = set()
    allowed = _without(may_read, removed)  # asked when a place is added: sessions that went on leave `removed`
    try:
        if looked.database is not None:
            _archives(collection, looked, allowed, names, is_deep)
        _files(collection, looked, _transcripts(files), allowed, removed, names, is_deep)
        if looked.database is not None:
            _in_database(collection, looked, allowed, removed, is_deep)
    except DamagedDatabase as exc:
        looked.of_database.problem = str(exc)
    _leftovers(collection, looked, files, allowed, is_deep)


def _transcripts(files):
    return [source for source in files if source.kind == Kind.TRANSCRIPT]


def _archives(collection, looked, allowed, names, is_deep):
    source, database, book = looked.of_database, looked.database, collection.book
    for archive in agent_database.read_archives(database):
        names.add(archive.name)
        was_read = book.part(f"{source.name}!{archive.session_id}/{archive.generation}") is not None
        is_wanted = collection.include_deleted or archive.reason == agent_database.COLD
        is_new = source.is_to_read and is_wanted and not was_read
        if (is_new or is_deep) and allowed(archive.session_id):
            lines = _archived(collection, source, database, archive)
            looked.add(Place(source, archive.session_id, lines, 0 if is_new else None, END if was_read else 0))


def _archived(collection, source, database, archive) -> Lines:
    def lines(_start):
        root = collection.home.root
        with collect_agent_database.open_archive(root, source.file, database, archive) as opened:
            yield from agent_database.read_archived_lines(archive, opened)

    return lines


def _files(collection, looked, files, allowed, removed, names, is_deep):
    for source in files:
        if source.is_to_read and source.session_id in removed and _went_on(collection, source):
            removed.discard(source.session_id)
    for source in files:
        is_new = source.is_to_read and source.file.name not in names
        if (is_new or is_deep) and allowed(source.session_id):
            looked.add(_file(collection, source, is_new=is_new))


def _went_on(collection, source):
    """As `collect_removed.files` has it: there is more in it than when it was read last."""
    offset = collection.book.offset(Kind.TRANSCRIPT, source.file)
    if is_packed(source) or not offset:
        return False
    try:
        with open_regular(collection.home.root, source.file) as opened:
            why = collection.book.reading(Kind.TRANSCRIPT, source.file, opened).why
    except NotReadable:
        return False
    return why == "appended" or (why == "replaced" and source.stat.st_size > offset)


def _file(collection, source, *, is_new):
    root, read = collection.home.root, _until(collection, source)
    begin = until = None
    if is_new:
        begin, until = _begin(collection, source)
    size = source.stat.st_size - (begin or 0) if is_new else 0
    return Place(
        source, source.session_id, build_line_reader(root, source), begin, read if until is None else until, size
    )


def _begin(collection, source):
    """From where a collect reads a file, and what it had read before."""
    if is_packed(source):
        return 0, 0
    try:
        with open_regular(collection.home.root, source.file) as opened:
            offset = collection.book.reading(Kind.TRANSCRIPT, source.file, opened).offset
    except NotReadable as exc:
        source.problem = str(exc)
        return 0, 0
    return offset, offset


def _until(collection, source):
    """How much of a file that has not changed, or is left alone, was read; also while it had its first name."""
    book = collection.book
    if offset := book.offset(Kind.TRANSCRIPT, source.file):
        return END if is_packed(source) else offset
    folder = source.file.parent.parent / "sessions"
    names = {source.file.name.partition(".jsonl")[0], source.session_id} if source.session_state else ()
    files = (folder / f"{name}.jsonl" for name in names)  # another session may write under that name by now
    own = (file for file in files if book.session_of(file) == source.session_id)
    return max((book.offset(Kind.TRANSCRIPT, file) for file in own), default=0)


def is_packed(source: Source) -> bool:
    """Whether a file is packed: it is whole, and read from its start."""
    return source.file.suffix == PACKED


def build_line_reader(root: Path, source: Source) -> Lines:
    """How the lines of a transcript's file are read."""

    def lines(start):
        with open_regular(root, source.file) as opened:
            if is_packed(source):
                yield from zstd_input.read_packed_lines(opened)
            else:
                is_closed = source.session_state not in ("", Session.State.LIVE)
                yield from jsonl.read_lines(opened, start, is_closed=is_closed)

    return lines


def _in_database(collection, looked, allowed, removed, is_deep):
    source, database, book = looked.of_database, looked.database, collection.book
    contents = list(agent_database.read_session_counts(database))
    per_record = source.size / (sum(one.count for one in contents) or 1)
    generations = agent_database.read_generations(database)
    for one in contents:
        part = book.part(f"{source.name}#{one.session_id}")
        if one.session_id in removed and source.is_to_read and part and one.last_seq + 1 > part.end:
            removed.discard(one.session_id)
            part = None
        if not one.session_id or not allowed(one.session_id):
            continue
        mark = generations.get(one.session_id, "")
        mark = mark or agent_database.hash_prefix(database, one.session_id, part.end if part else 0)
        why = collect_agent_database.find_read_reason(part, one, mark)
        is_new = source.is_to_read and why != "unchanged"
        if is_new or is_deep:
            read = part.end if part and why in ("appended", "unchanged") else 0
            size = int(per_record * one.count) if is_new else 0
            lines = _events(database, one.session_id)
            looked.add(Place(source, one.session_id, lines, read if is_new else None, read, size))


def _events(database, session_id) -> Lines:
    return lambda start: agent_database.read_events(database, session_id, start)


def _leftovers(collection, looked, files, allowed, is_deep):
    """What was imported into the database is read by way of it; only what it has lost since is read from here."""
    known = _in_the_database(collection, looked)
    for source in files:
        if source.kind != LEFTOVER:
            continue
        if source.is_to_read and source.session_id in known:
            source.state, source.why = LEFT, "imported"
        if (source.is_to_read or is_deep) and allowed(source.session_id):
            looked.add(_file(collection, source, is_new=source.is_to_read))


def _in_the_database(collection, looked) -> set[str]:
    """Sessions that a collect knows from the database or its archives by the time it comes to the leftovers."""
    source = looked.of_database
    if source is None:
        return set()
    book = collection.book
    known = {name.removeprefix(f"{source.name}#") for name in book.parts(f"{source.name}#")}
    known |= {name.removeprefix(f"{source.name}!").partition("/")[0] for name in book.parts(f"{source.name}!")}
    return known | {place.session_id for places in looked.by_session.values() for place in _of(places, source)}


def _of(places: Iterable[Place], source):
    return (place for place in places if place.source is source)
