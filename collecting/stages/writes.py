"""Imports writes to memory files from write_guardian's log and `reflection.db`, and unreported changes."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents.homes import Home, NotReadable, list_names, open_regular, stat_regular
from agents.models import Agent, CollectorSource
from agents.sources import HEAD, Tail
from gate.collectors.batches import split_batches
from gate.collectors.source_decisions import Rejection
from gate.recording.log_import import group_by_agent, parse_agent_name
from guardian.changes import ChangeCache
from guardian.collectors import reflection_db, source_writes
from guardian.collectors.source_writes import SourceWrite
from guardian.files import MEMORY_FILES
from guardian.handover import outcomes
from guardian.recording import api_import, log_import, snapshot_matching, write_provenance, write_store
from guardian.recording.reports import FileChange, Source
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.jsonl import Line
from ledger.models import RejectedRecord
from ledger.transcripts import transcript_store as ledger_storing
from openclaw_web.clock import now_ms
from people.configuration import setting_values as configuration

from .. import visits
from . import logs, source_databases
from .source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
OWN = ".openclaw-reflection"
WRITTEN, DATABASE = "write-guardian.log.jsonl", "reflection.db"
WORKSPACE = re.compile("workspace(-.+)?")
READER = 1  # increased when readers support more: unchanged files are then read again
RECENT_MS = 2 * 86_400_000  # writes without a turn that each import tries to match again
AT_ONCE = 500  # maximum of rows of a database, or lines of a log, in memory
NAMES = ("writes", "merged", "withheld", "unattributed", "rollbacks", "corrections")


def collect(collection: Any) -> dict[str, int]:
    """Read new writes; returns counts of writes, unreported changes and rejections."""
    counts = Counter(dict.fromkeys((*NAMES, "rejected", "matched_later", "lines", "equal_lines"), 0))
    if configuration.is_on(api_import.ENABLED_SETTING):
        for place in _find_places(collection):
            _import_database(collection, place, counts)
            _import_log(collection, place, counts)
        for agent in visits.list_visited(collection):
            # This import may have brought the transcripts of writes without a turn.
            is_whole = bool(collection.reports[agent.agent_id].transcripts["new"]) or collection.is_again
            since = None if is_whole else now_ms() - RECENT_MS
            counts["matched_later"] += log_import.rematch_turns(agent, since=since)
            outcomes.store_late_changes(agent)
        if configuration.is_on(write_store.SNAPSHOTS_SETTING):
            _attribute(collection, counts)
    return dict(counts)


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace with its agents here, the default agent first.

    `names` are these agents by their names in the home, `others` the names of agents with another workspace. A
    workspace without an agent belongs to the default agent.
    """

    workspace: Path
    names: dict[str, Agent]
    others: frozenset[str]
    is_elsewhere: bool = False

    @property
    def agents(self) -> list[Agent]:
        """The agents of the workspace; without any, the default agent."""
        return list(self.names.values())

    @property
    def own(self) -> Path:
        """The plugin's folder in the workspace."""
        return self.workspace / OWN


def find_other_workspaces(home: Home) -> list[Path]:
    """The folders of a home that are named as workspaces are, and are that of no agent."""
    taken = {home_agent.workspace.resolve() for home_agent in home.agents if home_agent.workspace}
    names = (name for name in list_names(home.root, []) if WORKSPACE.fullmatch(name))
    return [folder for name in names if (folder := home.root / name).resolve() not in taken]


def _find_places(collection) -> list[Place]:
    home = collection.home
    agents_by_folder: dict[Path, dict[str, Agent]] = {}
    folders: dict[Path, Path] = {}  # paths as OpenClaw names them: two paths may lead to one folder
    for home_agent in sorted(
        home.agents, key=lambda home_agent: (home_agent.home_name != "main", home_agent.home_name)
    ):
        agent = collection.agents.get(home_agent.home_name)
        if home_agent.workspace and agent is not None:
            real = home_agent.workspace.resolve()
            agents_by_folder.setdefault(real, {})[home_agent.home_name] = agent
            folders.setdefault(real, home_agent.workspace)
    with_workspace = frozenset(home_agent.home_name for home_agent in home.agents if home_agent.workspace)
    default = "main" if "main" in collection.agents else min(collection.agents)
    other_folders = find_other_workspaces(home)
    own = {default: collection.agents[default]}
    return [
        Place(folders[real], agents, with_workspace.difference(agents)) for real, agents in agents_by_folder.items()
    ] + [Place(folder, own, with_workspace.difference(own), is_elsewhere=True) for folder in other_folders]


def _import_log(collection, place, counts):
    """Import write_guardian's log from the last position on."""
    file, book = place.own / WRITTEN, collection.book
    stat = stat_regular(file)
    if stat is None or _is_log_known(collection, file, stat):
        return
    try:
        with open_regular(place.workspace, file) as handle:
            stat, head = os.fstat(handle.fileno()), os.pread(handle.fileno(), HEAD, 0)
            tail = _find_tail(collection, file, handle)
            _read_log(collection, place, handle, tail, counts)
    except NotReadable as exc:
        words = {"file": file.name, "reason": exc}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    if stat.st_size > logs.MAX_BYTES:
        words = {"file": book.name(file), "size": f"{logs.MAX_BYTES // 1024**2} MB"}
        collection.home.notes.append(_("Of %(file)s only the first %(size)s were read.") % words)
    if collection.only is not None and len(place.agents) > 1:
        return
    with transaction.atomic():
        book.save_reader_state(Kind.GUARDIAN_WRITES, file, _format_mode(collection), b"{}")
        book.save_appended(Kind.GUARDIAN_WRITES, file, stat, agent_id="", head=head, tail=tail)


def _is_log_known(collection, file, stat):
    """Whether a log is unchanged since it was read in this mode."""
    if (
        collection.is_again
        or collection.book.load_reader_state(Kind.GUARDIAN_WRITES, file, _format_mode(collection)) is None
    ):
        return False
    return collection.book.is_known(Kind.GUARDIAN_WRITES, file, stat)


def _find_tail(collection, file, handle):
    """The read part of an open log; empty when reading starts anew.

    That is the case while somebody has opted out: writes that wait for a turn are read again.
    """
    book, tail = collection.book, Tail()
    is_kept = not (collection.is_again or collection.opted_out)
    if is_kept and book.load_reader_state(Kind.GUARDIAN_WRITES, file, _format_mode(collection)) is not None:
        reading = book.find_resume_position(Kind.GUARDIAN_WRITES, file, handle)
        tail = reading.tail if reading else tail
    handle.seek(tail.end)
    return tail


def _read_log(collection, place, handle, tail, counts):
    file, agents, reader = place.own / WRITTEN, place.agents, source_writes.LogReader()
    change_cache = ChangeCache()
    for batch in split_batches(
        _parse_lines(reader, handle, tail), lambda item: len(getattr(item, "fact", "") or ""), AT_ONCE
    ):
        problems = [item for item in batch if isinstance(item, Line)]
        counts["lines"] += len(batch)
        _reject(collection, agents[0], file, problems, counts)
        by_owner: dict[str, list[SourceWrite]] = {}
        for item in batch:
            if isinstance(item, SourceWrite):
                by_owner.setdefault(_find_owner(agents, item).agent_id, []).append(item)
        for agent in agents:
            if collection.only in (None, agent.agent_id):
                own, options = (
                    by_owner.get(agent.agent_id, []),
                    {"is_elsewhere": place.is_elsewhere, "change_cache": change_cache},
                )
                _add_counts(
                    collection, agent, file, log_import.import_writes(agent, own, Source.LOG, **options), counts
                )
    counts["lines"] += reader.equal
    counts["equal_lines"] += reader.equal


def _parse_lines(reader, handle, tail) -> Iterator[SourceWrite | Line]:
    for start, line in logs.read_lines(handle, tail.end):
        tail.take(line)
        item = reader.feed(line)
        if isinstance(item, Rejection):
            yield Line(start, start + len(line), line[:4096], None, item.reason, item.detail)
        elif item is not None:
            yield item


def _find_owner(agents, write):
    """The agent of a write in a shared workspace: by its decision, else the first agent."""
    if len(agents) > 1:
        details = {"fact": write.fact, "at": write.at, "kind": write.kind, "target_file": write.target_file}
        return next((agent for agent in agents if write_provenance.find_decision(agent.db, **details)), agents[0])
    return agents[0]


def _import_database(collection, place, counts):
    """Import the `reflection.db` in the plugin's folder of a workspace."""
    source, agents = place.own / DATABASE, place.agents
    stat, wal = source_databases.read_stats(source)
    if stat is None or _is_database_known(collection, source, stat, wal):
        return
    try:
        with source_databases.open_copy(collection, source, reflection_db.TABLES, root=place.workspace) as database:
            _import_rows(collection, database, source, place, counts)
    except (UnreadableDatabase, DamagedDatabase) as exc:
        counts["rejected"] += 1
        words = {"file": collection.book.name(source), "reason": source_databases.describe_failure(exc)}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    if collection.only is None or len(agents) == 1:
        for path, file_stat in ((source, stat), (source_databases.get_wal_path(source), wal)):
            if file_stat is not None:
                collection.book.save_read(
                    path, file_stat, _format_mode(collection), agent_id="", kind=Kind.GUARDIAN_WRITES
                )


def _is_database_known(collection, source, stat, wal):
    pairs = [(source, stat), *([(source_databases.get_wal_path(source), wal)] if wal else [])]
    how = _format_mode(collection)
    return all(collection.book.was_read(path, file_stat, how, kind=Kind.GUARDIAN_WRITES) for path, file_stat in pairs)


def _import_rows(collection, database, source, place, counts):
    versions, change_cache = reflection_db.SnapshotReader(database), ChangeCache()
    numbered = enumerate(reflection_db.read(database), start=1)  # number 0 is for problems of its decisions
    while batch := list(islice(numbered, AT_ONCE)):
        problems = [Line(n, n, b"", None, item.reason, item.detail) for n, item in batch if isinstance(item, Rejection)]
        writes = [item for _number, item in batch if not isinstance(item, Rejection)]
        _reject(collection, place.agents[0], source, [*problems, *_reject_foreign(place, writes)], counts)
        own = [item for item in writes if parse_agent_name(item) not in place.others]
        versions.locate_snapshots(name for item in own for name in item.snapshots or () if name)
        _store_rows(collection, own, source, place, _build_change_reader(versions), change_cache, counts)


def _build_change_reader(versions):
    def change(write):
        sides = [versions.read_snapshot(write.target_file, name) for name in write.snapshots]
        data, hashes = zip(*((side.data, side.sha256) if side else (None, None) for side in sides), strict=True)
        return FileChange(*data, hashes)

    return change


def _store_rows(collection, own, source, place, change, change_cache, counts):
    names = {name: agent.agent_id for name, agent in place.names.items()}
    agents_by_id = {agent.agent_id: agent for agent in place.agents}
    for agent_id, writes in group_by_agent(own, names, {}, place.agents[0].agent_id).items():
        if collection.only in (None, agent_id):
            options = {"is_elsewhere": place.is_elsewhere, "change_cache": change_cache}
            result = log_import.import_writes(agents_by_id[agent_id], writes, Source.DATABASE, change, **options)
            _add_counts(collection, agents_by_id[agent_id], source, result, counts)


def _reject_foreign(place, writes):
    """Rejections of writes that name an agent of another workspace.

    This workspace's database is not trusted about that agent.
    """
    for write in writes:
        if (name := parse_agent_name(write)) in place.others:
            yield _build_rejection(write.id, f"its session is of the agent {name}, which has another workspace")


def _add_counts(collection, agent, file, result, counts):
    for name in NAMES:
        counts[name] += getattr(result, name)
    _reject(collection, agent, file, [_build_rejection(*refusal) for refusal in result.refused], counts)


def _build_rejection(name, why):
    """The rejected line of an unstored write, at an offset beyond those of rows."""
    place = 2**40 + int(write_store.hash_body(name.encode())[:8], 16)
    return Line(place, place, b"", None, "bad_write", f"{name}: {why}")


def _reject(collection, agent, file, lines, counts):
    """Store unusable lines as rejected records, and count the new ones."""
    if not lines:
        return
    name = collection.book.name(file)
    rows = RejectedRecord.objects.using(agent.db).filter(file=name)
    known = set(rows.filter(byte_offset__in=[line.offset for line in lines]).values_list("byte_offset", flat=True))
    counts["rejected"] += sum(line.offset not in known for line in lines)
    ledger_storing.store_rejected_lines(agent.db, name, lines)


def _format_mode(collection):
    """The mode of reading: with other opt-outs, logs and databases are read again."""
    return f"{READER} writes {','.join(sorted(collection.opted_out))}"


def _attribute(collection, counts):
    """Attribute versions of memory files without a write to agents, or report them as unreported."""
    agents = visits.list_visited(collection)
    for agent in agents:  # changes of earlier imports that a record of this import names
        write_provenance.attribute_writes(agent)
    counts["unattributed"] += sum(settled.unattributed for settled in _settle_changes(agents))
    if named := sum(write_provenance.attribute_writes(agent) for agent in agents):
        # The other agents of a shared workspace then have no unreported change.
        withdrawn = sum(settled.withdrawn for settled in _settle_changes(agents))
        counts["unattributed"] = max(0, counts["unattributed"] - named - withdrawn)


def _settle_changes(agents):
    return [snapshot_matching.match_new_snapshots(agent.db, name) for agent in agents for name in MEMORY_FILES]
