"""Collect writes to memory files: what write_guardian logged, what a `reflection.db` says, and what nobody told of."""

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

from agents.homes import NotReadable, list_names, open_regular, stat_regular
from agents.models import Agent, CollectorSource
from agents.sources import HEAD, Tail
from gate.collectors.batches import split_batches
from gate.collectors.source_decisions import Rejection
from gate.recording.log_import import group_by_agent, parse_agent_name
from guardian.changes import ChangeCache
from guardian.collectors import reflection_db, write_log
from guardian.collectors.source_writes import SourceWrite
from guardian.files import MEMORY_FILES
from guardian.handover import outcomes
from guardian.recording import api_import, log_import, snapshot_matching, write_provenance, write_store
from guardian.recording.reports import FileChange, Source
from guardian.standing import attribution
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.jsonl import Line
from ledger.models import RejectedRecord
from ledger.transcripts import transcript_store as ledger_storing
from openclaw_web.clock import now_ms
from people.configuration import setting_values as configuration

from . import logs, source_databases
from .source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
OWN = ".openclaw-reflection"
WRITTEN, DATABASE = "write-guardian.log.jsonl", "reflection.db"
WORKSPACE = re.compile("workspace(-.+)?")
READER = 1  # raised when readers learn to read more: what has not changed is then read again
RECENT_MS = 2 * 86_400_000  # writes without a turn that are looked at again at each import
AT_ONCE = 500  # rows of a database, or lines of a log, that are held at once
NAMES = ("writes", "merged", "withheld", "unattributed", "rollbacks", "corrections")


def collect(collection: Any) -> dict[str, int]:
    """Read what is new; how many writes came, how many changes nobody told of, and what was not stored."""
    counts = Counter(dict.fromkeys((*NAMES, "rejected", "matched_later", "lines", "equal_lines"), 0))
    if configuration.is_on(api_import.ENABLED_SETTING):
        for place in _places(collection):
            _database(collection, place, counts)
            _log(collection, place, counts)
        _match_again(collection, counts)
        for agent in collection.agents.values():
            if collection.only in (None, agent.agent_id) and agent.agent_id not in collection.lost:
                outcomes.store_late_changes(agent)
        if configuration.is_on(write_store.SNAPSHOTS_SETTING):
            _attribute(collection, counts)
    return dict(counts)


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace with the agents here that have it, that of the default agent first; or one that no agent has.

    `names` are these agents by their names in the home, `others` the names of agents with another workspace.
    """

    workspace: Path
    names: dict[str, Agent]
    others: frozenset[str]
    is_elsewhere: bool = False

    @property
    def agents(self) -> list[Agent]:
        """Those that have it; of one that no agent has, the default agent."""
        return list(self.names.values())

    @property
    def own(self) -> Path:
        """The folder that the plugin has in it."""
        return self.workspace / OWN


def _places(collection) -> list[Place]:
    home = collection.home
    found: dict[Path, dict[str, Agent]] = {}
    folders: dict[Path, Path] = {}  # as OpenClaw names them: two names may lead to one folder
    for one in sorted(home.agents, key=lambda one: (one.home_name != "main", one.home_name)):
        agent = collection.agents.get(one.home_name)
        if one.workspace and agent is not None:
            real = one.workspace.resolve()
            found.setdefault(real, {})[one.home_name] = agent
            folders.setdefault(real, one.workspace)
    settled = frozenset(one.home_name for one in home.agents if one.workspace)
    taken = {one.workspace.resolve() for one in home.agents if one.workspace}
    default = "main" if "main" in collection.agents else min(collection.agents)
    names = (name for name in list_names(home.root, []) if WORKSPACE.fullmatch(name))
    left = [folder for name in names if (folder := home.root / name).resolve() not in taken]
    own = {default: collection.agents[default]}
    return [Place(folders[real], some, settled.difference(some)) for real, some in found.items()] + [
        Place(folder, own, settled.difference(own), is_elsewhere=True) for folder in left
    ]


def _log(collection, place, counts):
    """The log of write_guardian, from where the last import stopped."""
    file, book = place.own / WRITTEN, collection.book
    stat = stat_regular(file)
    if stat is None or _is_log_known(collection, file, stat):
        return
    try:
        with open_regular(place.workspace, file) as handle:
            stat, head = os.fstat(handle.fileno()), os.pread(handle.fileno(), HEAD, 0)
            tail = _begin(collection, file, handle)
            _read_log(collection, place, handle, tail, counts)
    except NotReadable as exc:
        words = {"file": file.name, "reason": exc}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    if not logs.is_within_limit(stat):
        words = {"file": book.name(file), "size": f"{logs.MAX_BYTES // 1024**2} MB"}
        collection.home.notes.append(_("Of %(file)s only the first %(size)s were read.") % words)
    if collection.only is not None and len(place.agents) > 1:
        return
    with transaction.atomic():
        book.save_reader_state(Kind.GUARDIAN_WRITES, file, _how(collection), b"{}")
        book.save_appended(Kind.GUARDIAN_WRITES, file, stat, agent_id="", head=head, tail=tail)


def _is_log_known(collection, file, stat):
    """Whether nothing is new in a log that was read in this way."""
    if collection.is_again or collection.book.reader_state(Kind.GUARDIAN_WRITES, file, _how(collection)) is None:
        return False
    return collection.book.is_known(Kind.GUARDIAN_WRITES, file, stat)


def _begin(collection, file, handle):
    """What was read of an opened log; nothing where it is to be read from its start.

    So it is while somebody has opted out: what was withheld for want of a turn is met again.
    """
    book, tail = collection.book, Tail()
    is_kept = not (collection.is_again or collection.opted_out)
    if is_kept and book.reader_state(Kind.GUARDIAN_WRITES, file, _how(collection)) is not None:
        reading = book.continued(Kind.GUARDIAN_WRITES, file, handle)
        tail = reading.tail if reading else tail
    handle.seek(tail.end)
    return tail


def _read_log(collection, place, handle, tail, counts):
    file, agents, reader = place.own / WRITTEN, place.agents, write_log.LogReader()
    made = ChangeCache()
    for some in split_batches(_lines(reader, handle, tail), lambda one: len(getattr(one, "fact", "") or ""), AT_ONCE):
        problems = [one for one in some if isinstance(one, Line)]
        counts["lines"] += len(some)
        _reject(collection, agents[0], file, problems, counts)
        by_owner: dict[str, list[SourceWrite]] = {}
        for one in some:
            if isinstance(one, SourceWrite):
                by_owner.setdefault(_owner(agents, one).agent_id, []).append(one)
        for agent in agents:
            if collection.only in (None, agent.agent_id):
                own, about = by_owner.get(agent.agent_id, []), {"is_elsewhere": place.is_elsewhere, "made": made}
                _count(collection, agent, file, log_import.import_writes(agent, own, Source.LOG, **about), counts)
    counts["lines"] += reader.equal
    counts["equal_lines"] += reader.equal


def _lines(reader, handle, tail) -> Iterator[SourceWrite | Line]:
    for start, line in logs.read_lines(handle, tail.end):
        tail.take(line)
        one = reader.feed(line)
        if isinstance(one, Rejection):
            yield Line(start, start + len(line), line[:4096], None, one.reason, one.detail)
        elif one is not None:
            yield one


def _owner(agents, one):
    """Whose write it is where agents share a workspace: of the decision behind it, else of the first of them."""
    if len(agents) > 1:
        about = {"fact": one.fact, "at": one.at, "kind": one.kind, "target_file": one.target_file}
        return next((agent for agent in agents if write_provenance.find_decision(agent.db, **about)), agents[0])
    return agents[0]


def _database(collection, place, counts):
    """A `reflection.db` in the folder that the plugin has in a workspace."""
    source, agents = place.own / DATABASE, place.agents
    stat, wal = source_databases.read_stats(source)
    if stat is None or _is_known(collection, source, stat, wal):
        return
    try:
        with source_databases.open_copy(collection, source, reflection_db.TABLES, root=place.workspace) as database:
            _rows(collection, database, source, place, counts)
    except (UnreadableDatabase, DamagedDatabase) as exc:
        counts["rejected"] += 1
        words = {"file": collection.book.name(source), "reason": source_databases.describe_failure(exc)}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    if collection.only is None or len(agents) == 1:
        for path, one in ((source, stat), (source_databases.get_wal_path(source), wal)):
            if one is not None:
                collection.book.save_read(path, one, _how(collection), agent_id="", kind=Kind.GUARDIAN_WRITES)


def _is_known(collection, source, stat, wal):
    pairs = [(source, stat), *([(source_databases.get_wal_path(source), wal)] if wal else [])]
    how = _how(collection)
    return all(collection.book.was_read(path, one, how, kind=Kind.GUARDIAN_WRITES) for path, one in pairs)


def _rows(collection, database, source, place, counts):
    versions, made = reflection_db.SnapshotReader(database), ChangeCache()
    numbered = enumerate(reflection_db.read(database), start=1)  # at 0 is what was wrong with its decisions
    while some := list(islice(numbered, AT_ONCE)):
        problems = [Line(n, n, b"", None, one.reason, one.detail) for n, one in some if isinstance(one, Rejection)]
        found = [one for _number, one in some if not isinstance(one, Rejection)]
        _reject(collection, place.agents[0], source, [*problems, *_foreign(place, found)], counts)
        own = [one for one in found if parse_agent_name(one) not in place.others]
        versions.locate_snapshots(name for one in own for name in one.snapshots or () if name)
        _store_rows(collection, own, source, place, _changes_in(versions), made, counts)


def _changes_in(versions):
    def change(one):
        sides = [versions.of(one.target_file, name) for name in one.snapshots]
        data, hashes = zip(*((side.data, side.sha256) if side else (None, None) for side in sides), strict=True)
        return FileChange(*data, hashes)

    return change


def _store_rows(collection, own, source, place, change, made, counts):
    names = {name: agent.agent_id for name, agent in place.names.items()}
    here = {agent.agent_id: agent for agent in place.agents}
    for agent_id, some in group_by_agent(own, names, {}, place.agents[0].agent_id).items():
        if collection.only in (None, agent_id):
            about = {"is_elsewhere": place.is_elsewhere, "made": made}
            result = log_import.import_writes(here[agent_id], some, Source.DATABASE, change, **about)
            _count(collection, here[agent_id], source, result, counts)


def _foreign(place, found):
    """Writes that name an agent of another workspace: whoever writes this database has no say about that agent."""
    for one in found:
        if (name := parse_agent_name(one)) in place.others:
            yield _refused(one.id, f"its session is of the agent {name}, which has another workspace")


def _count(collection, agent, file, result, counts):
    for name in NAMES:
        counts[name] += getattr(result, name)
    _reject(collection, agent, file, [_refused(*one) for one in result.refused], counts)


def _refused(name, why):
    """A write that is not stored: it has a place of its own, beyond those of rows."""
    place = 2**40 + int(write_store.hash_body(name.encode())[:8], 16)
    return Line(place, place, b"", None, "bad_write", f"{name}: {why}")


def _reject(collection, agent, file, lines, counts):
    """Show what cannot be used under Rejected records; counted are those that are new there."""
    if not lines:
        return
    name = collection.book.name(file)
    rows = RejectedRecord.objects.using(agent.db).filter(file=name)
    known = set(rows.filter(byte_offset__in=[line.offset for line in lines]).values_list("byte_offset", flat=True))
    counts["rejected"] += sum(line.offset not in known for line in lines)
    ledger_storing.store_rejected_lines(agent.db, name, lines)


def _how(collection):
    """How logs and databases are read: with somebody else opted out, they are read again."""
    return f"{READER} writes {','.join(sorted(collection.opted_out))}"


def _match_again(collection, counts):
    """Writes without a turn, once more: their transcripts and decisions may have come with this import."""
    for agent in collection.agents.values():
        report = collection.reports.get(agent.agent_id)
        if report is not None:
            is_whole = bool(report.transcripts["new"]) or collection.is_again
            counts["matched_later"] += log_import.rematch_turns(agent, since=None if is_whole else now_ms() - RECENT_MS)


def _attribute(collection, counts):
    """Versions of memory files that no write leads to: the agent's own, where a record names them, else unreported."""
    agents = [
        agent
        for agent in collection.agents.values()
        if collection.only in (None, agent.agent_id) and agent.agent_id not in collection.lost
    ]
    for agent in agents:  # changes that earlier imports found, and that a record of this one names
        attribution.attribute_writes(agent)
    counts["unattributed"] += sum(settled.unattributed for settled in _settle(agents))
    if named := sum(attribution.attribute_writes(agent) for agent in agents):
        # Of agents that share a workspace, the others have no unreported change then.
        withdrawn = sum(settled.withdrawn for settled in _settle(agents))
        counts["unattributed"] = max(0, counts["unattributed"] - named - withdrawn)


def _settle(agents):
    return [snapshot_matching.match_new_snapshots(agent.db, name) for agent in agents for name in MEMORY_FILES]
