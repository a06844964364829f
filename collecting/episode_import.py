"""Imports the episodic ledger of openclaw-mem in a home: `memory/openclaw-mem.sqlite`.

Each row goes to the agent that it names, or to the home's main agent when it names none of this home.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from agents import databases
from agents.homes import describe_irregular, normalise_or_empty
from agents.models import Agent, CollectorSource
from episodes.append import MOST_AT_ONCE
from episodes.chain.heads import DamagedLedger
from episodes.collectors import openclaw_mem
from episodes.collectors.openclaw_mem import SourceRow
from episodes.imports import ledger_import
from episodes.imports.source_events import PositionStore, select_unexpired
from episodes.models import EpisodicEvent
from gate.collectors.batches import count_row_bytes, split_batches
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.jsonl import Line
from ledger.transcripts import transcript_store
from openclaw_web.sqlite import inspection

from .stages import source_databases
from .stages.source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
PLACE = ("memory", "openclaw-mem.sqlite")
POSITION_KIND = "episode_ledger"
MAIN = "main"
BAD_EVENT = "bad_event"
CAPABILITY = "episodes"


@dataclass(frozen=True, slots=True)
class RowPreview:
    """A row that an import would store or reject.

    `event_id` is empty for a row that is no event, `problem` says why.
    """

    id: int
    event_id: str = ""
    problem: str = ""


def collect(collection: Any) -> dict[str, int]:
    """Import new events; returns counts by outcome.

    After a kill the rest is imported by the next import. A database that cannot be read is noted and tried again.
    """
    counts = dict.fromkeys(ledger_import.NAMES, 0)
    note_irregular(collection)
    if not count_bytes_to_read(collection):
        return counts
    source = collection.home.root.joinpath(*PLACE)
    stats, size = source_databases.read_stats(source), source_databases.get_copy_size(source)
    if stats[0] is None:  # removed in this moment
        return counts
    try:
        with source_databases.open_copy(collection, source, openclaw_mem.TABLES) as database:
            source_databases.note_unread(collection, source, database, openclaw_mem.SCHEMA)
            is_whole = _import_events(collection, source, stats[0].st_ino, database, counts)
    except DamagedLedger as exc:  # ours: the next import tries again
        collection.home.notes.append(exc.sentence)
        return counts
    except (UnreadableDatabase, DamagedDatabase) as exc:
        reason = exc.reason if isinstance(exc, UnreadableDatabase) else "damaged_database"
        _note_unreadable(collection, source, reason, source_databases.describe_failure(exc), counts)
        return counts
    collection.add_bytes(size)
    if is_whole:
        _note_read(collection, source, stats)
    return counts


def note_irregular(collection: Any) -> None:
    """Note that a link, a folder or a pipe has the name of the ledger: none of them is read."""
    source = collection.home.root.joinpath(*PLACE)
    if CAPABILITY not in settings.DISABLED and (reason := describe_irregular(source)):
        words = {"file": collection.book.name(source), "reason": reason}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)


def count_bytes_to_read(collection: Any) -> int:
    """The size of the ledger's database; 0 when it is unchanged or missing."""
    source = collection.home.root.joinpath(*PLACE)
    stat, wal = source_databases.read_stats(source)
    if stat is None or not collection.agents or CAPABILITY in settings.DISABLED:
        return 0
    own_way, way_of_all = _find_ways(collection)
    is_known = _was_read(collection, source, (stat, wal), own_way) or _was_read(
        collection, source, (stat, wal), way_of_all
    )
    return 0 if is_known and not collection.is_again else source_databases.get_copy_size(source)


def preview(
    collection: Any, database: Database, inode: int | None = None
) -> Iterator[tuple[str | None, list[RowPreview]]]:
    """Yield what an import would do with rows, by the database aliases of their agents.

    `database` is a copy of the ledger, whose file has this inode: rows that were read are left out. Without it all are
    yielded. The alias is None for an agent without a file. Withheld and expired events are left out. Raises
    UnreadableDatabase when columns are missing, DamagedDatabase when SQLite fails.
    """
    if problem := _describe_missing(database):
        raise UnreadableDatabase("bad_database", problem)
    dbs = {name: databases.find_alias(agent.agent_id) for name, agent in collection.agents.items()}
    if any(db and inspection.is_removed(db, EpisodicEvent) for db in dbs.values()):  # an import stores nothing then
        return
    start = 0
    if (
        inode is not None and None not in dbs.values()
    ):  # else the next import reads all rows, or it is no longer known how far it came
        source = collection.home.root.joinpath(*PLACE)
        positions = _open_positions(collection, source, {collection.agents[name].agent_id: dbs[name] for name in dbs})
        start = _find_start(collection, database, positions, inode)
    rows = openclaw_mem.read_rows(database, start)
    for batch in split_batches(rows, lambda row: count_row_bytes(row.values.values()), MOST_AT_ONCE):
        for name, own_rows in _group_rows(collection, batch).items():
            yield dbs[name], list(_preview_rows(collection, dbs[name], own_rows))


def _preview_rows(collection, db, rows):
    read = ledger_import.read_rows(rows, collection.opted_out)
    events = [event for _row, event in read.events]
    unexpired = set(select_unexpired(db, events) if db else events)
    for row, sentence in read.rejected:
        yield RowPreview(row.id, problem=sentence)
    for row, event in read.events:
        if event in unexpired:
            yield RowPreview(row.id, event_id=event.event_id)


def _was_read(collection, source, stats, way):
    paths = (source, source_databases.get_wal_path(source))
    return all(
        stat is None or collection.book.was_read(path, stat, way) for path, stat in zip(paths, stats, strict=True)
    )


def _note_read(collection, source, stats):
    way, way_of_all = _find_ways(collection)
    if _was_read(collection, source, stats, way_of_all):  # an import of one agent has read less
        return
    for path, stat in zip((source, source_databases.get_wal_path(source)), stats, strict=True):
        if stat is not None:
            collection.book.save_read(path, stat, way, agent_id="")


def _find_ways(collection):
    """The way of this import, and that of one of all agents, which covers it."""
    own, *others = _list_conditions(collection)
    return "\n".join([own, *others]), "\n".join(["", *others])


def _list_conditions(collection):
    """The conditions of a reading: the agents, and who has opted out."""
    agents = sorted(f"{name} {agent.agent_id}" for name, agent in collection.agents.items())
    return [collection.only or "", ",".join(sorted(collection.opted_out)), *agents]


def _note_unreadable(collection, source, reason, detail, counts):
    counts["rejected"] += 1
    counts["unread_databases"] = 1
    source_databases.store_rejection(collection, collection.agents[_find_main(collection)], source, reason, detail)
    words = {"file": collection.book.name(source), "reason": detail}
    collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)


def _import_events(collection, source, inode, database: Database, counts) -> bool:
    """Import the rows after the last reading; returns whether all of them could be assigned."""
    if problem := _describe_missing(database):
        _note_unreadable(collection, source, "bad_database", problem, counts)
        return True
    dbs = {agent.agent_id: agent.db for agent in collection.agents.values()}
    positions = _open_positions(collection, source, dbs)
    is_whole, rows = True, openclaw_mem.read_rows(database, _find_start(collection, database, positions, inode))
    for batch in split_batches(rows, lambda row: count_row_bytes(row.values.values()), MOST_AT_ONCE):
        is_whole = _import_batch(collection, source, batch, counts) and is_whole
        if is_whole:
            last = batch[-1].id
            positions.save({"row": last, "ends": openclaw_mem.find_ends(database, last), "inode": inode})
    return is_whole


def _describe_missing(database):
    missing = openclaw_mem.find_missing_columns(database)
    return f"{openclaw_mem.EVENTS} lacks {', '.join(missing)}" if missing else ""


def _open_positions(collection, source, dbs):
    return PositionStore(collection.book, POSITION_KIND, source, _list_conditions(collection), dbs)


def _find_start(collection, database, positions, inode) -> int:
    """The last row that was read; 0 when all rows are to be read."""
    position = {} if collection.is_again else positions.load()
    is_same = position.get("inode") == inode
    is_there = is_same and openclaw_mem.find_ends(database, position["row"]) == position["ends"]
    return int(position["row"]) if is_there else 0


def _import_batch(collection, source, rows: Iterable[SourceRow], counts) -> bool:
    """Import rows by agent; returns whether the files of all their agents can be read."""
    by_agent = _group_rows(collection, rows)
    for name, own_rows in by_agent.items():
        if name in collection.agents and collection.only in (None, collection.agents[name].agent_id):
            _import_rows(collection, source, collection.agents[name], own_rows, counts)
    return by_agent.keys() <= collection.agents.keys()


def _group_rows(collection, rows):
    by_agent: dict[str, list[SourceRow]] = {}
    for row in rows:
        by_agent.setdefault(_find_owner(collection, row), []).append(row)
    return by_agent


def _import_rows(collection, source, agent: Agent, rows, counts):
    result = ledger_import.import_rows(agent, rows, collection.opted_out)
    for name, count in result.counts.items():
        counts[name] += count
    lines = [Line(row.id, row.id, b"", None, BAD_EVENT, sentence) for row, sentence in result.rejected]
    transcript_store.store_rejected_lines(agent.db, collection.book.name(source), lines)


def _find_owner(collection, row: SourceRow) -> str:
    """The home's name of the agent that gets a row, which may be a lost one."""
    names = [home_agent.home_name for home_agent in collection.home.agents]
    named = row.values.get("agent_id") or ""
    own = next((name for name in names if name == named), "")
    own = own or next((name for name in names if normalise_or_empty(named) == normalise_or_empty(name) != ""), "")
    return own or _find_main(collection)


def _find_main(collection) -> str:
    """The agent that gets what belongs to none: `main`, the default one, or the first."""
    agents = [home_agent for home_agent in collection.home.agents if home_agent.home_name in collection.agents]
    default = next((home_agent.home_name for home_agent in agents if home_agent.is_default), "")
    if MAIN in collection.agents:
        return MAIN
    return default or min(collection.agents)
