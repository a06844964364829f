"""Collect what the Reflection plugin left behind: its logs, the log of its write_guardian, and a `reflection.db`."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents.homes import NotReadable, look, names_in, open_regular
from agents.models import CollectorSource
from gate.collectors import guardian_log, plugin_log, reflection_db
from gate.collectors.found import FoundDecision, Problem
from gate.models import MemoryGateDecision
from gate.recording import foreign_decisions, imported, recorded
from guardian.recording import unattributed
from ledger.collectors.database import Damaged
from ledger.collectors.jsonl import Line
from ledger.transcripts import storing
from openclaw_web import clock
from people.configuration import keys as configuration

from . import databases, log_owners, logs
from .databases import Unreadable

Kind = CollectorSource.Kind
Source = MemoryGateDecision.Source
FOLDER = "reflection.logFolder"
OWN = ".openclaw-reflection"
WRITTEN, DATABASE = "write-guardian.log.jsonl", "reflection.db"
BEGIN, END = "reflection-", ".log"
STILL_MS = 10_000
RECENT_MS = 2 * 86_400_000  # decisions without a turn that are looked at again at each import


def collect(collection: Any) -> dict[str, int]:
    """Read what is new; how many decisions and failed calls came, and what was not stored."""
    names = (
        "decisions",
        "merged",
        "failed_calls",
        "withheld",
        "elsewhere",
        "rejected",
        "matched_later",
        "unknown_lines",
    )
    counts = Counter(dict.fromkeys(names, 0))
    if configuration.get(recorded.SETTING):
        _databases(collection, counts)
        _logs(collection, counts)
        _match_again(collection, counts)
    return dict(counts)


def _logs(collection, counts):
    folder = configuration.get(FOLDER)
    if not folder:
        return
    if not Path(folder).is_dir():
        words = {"path": folder}
        collection.home.notes.append(_("The log folder of the Reflection plugin is not there: %(path)s.") % words)
        return
    files = [
        Path(folder) / name
        for name in names_in(Path(folder), collection.home.notes)
        if name.startswith(BEGIN) and name.endswith(END)
    ]
    written = _written_files(collection)
    new = [file for file in files if not _is_known(collection, Kind.REFLECTION_LOG, file)]
    if not new and all(_is_known(collection, Kind.GUARDIAN_LOG, file) for file in written):
        return
    reader = plugin_log.LogReader()
    start = files.index(new[0]) if new else len(files)
    found: list[FoundDecision] = []
    states = []
    for file in files[max(0, start - 1) :]:  # conversations go on after midnight: what was said before belongs to it
        states.append((Kind.REFLECTION_LOG, file, _read(collection, file, reader, found, counts)))
    if not _is_being_written(states):
        found += [one for one in reader.finish() if isinstance(one, FoundDecision)]
    counts["unknown_lines"] += sum(reader.unknown.values())
    facts = {file.parents[1]: _written(collection, file, states) for file in written}
    owners = log_owners.LogOwners(collection)
    _store(collection, owners, found, facts, counts)
    _note_consolidations(collection, owners, reader.consolidations)
    _remember(collection, states)


def _is_being_written(states):
    """Whether a line may follow in a moment that says whose the last decision is."""
    return any(stat and clock.is_recent(stat.st_mtime_ns // 1_000_000, STILL_MS) for _kind, _file, stat in states)


def _written_files(collection):
    """The log of write_guardian in each workspace."""
    folders = [found.workspace for found in collection.home.agents if found.workspace]
    return [file for folder in folders if look(file := folder / OWN / WRITTEN)]


def _is_known(collection, kind, file):
    stat = look(file)
    return stat is None or collection.book.is_known(kind, file, stat)


def _read(collection, file, reader, found, counts):
    """Add the decisions of a log to `found`; how the file was when it was read, None when it was not."""
    try:
        with open_regular(file.parent, file) as handle:
            stat = os.fstat(handle.fileno())
            reader.begin_file()
            offset = 0
            while line := handle.readline(logs.MOST_LINE):
                start, offset = offset, offset + len(line)
                if not line.endswith(b"\n") and len(line) < logs.MOST_LINE:
                    break  # still being written
                for one in _ready(reader, line):
                    if isinstance(one, Problem):
                        _reject(
                            collection, file, Line(start, offset, line[:4096], None, one.reason, one.detail), counts
                        )
                    else:
                        found.append(one)
            return stat
    except NotReadable as exc:
        words = {"file": file.name, "reason": exc}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return None


def _ready(reader, line):
    one = reader.feed(line)
    if one is not None:
        yield one
    yield from reader.ready()


def _written(collection, file, states):
    """What write_guardian was asked to write, with the facts; lines that are no use are shown with the writes."""
    try:
        with open_regular(file.parents[1], file) as handle:
            stat = os.fstat(handle.fileno())
            found = list(guardian_log.read(line for _place, line in logs.lines(handle)))
    except NotReadable as exc:
        words = {"file": file.name, "reason": exc}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return []
    states.append((Kind.GUARDIAN_LOG, file, stat))
    return [one for one in found if not isinstance(one, Problem)]


def _databases(collection, counts):
    """A `reflection.db` in the folder that the plugin has in each workspace."""
    for found in collection.home.agents:
        source = found.workspace / OWN / DATABASE if found.workspace else None
        if source is None or look(source) is None or databases.is_known(collection, source):
            continue
        agent = collection.agents.get(found.home_name)
        if agent is None or collection.only not in (None, agent.agent_id):
            continue
        _database(collection, agent, source, counts)


def _database(collection, agent, source, counts):
    stats = databases.stats_of(source)
    try:
        with databases.opened(collection, source, reflection_db.TABLES, root=source.parents[1]) as database:
            rows = list(reflection_db.read(database))
    except (Unreadable, Damaged) as exc:
        counts["rejected"] += 1
        words = {"file": collection.book.name(source), "reason": databases.why(exc)}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    for problem in rows:
        if isinstance(problem, Problem):
            _reject(collection, source, Line(0, 0, b"", None, problem.reason, problem.detail), counts, agent)
    found = [one for one in rows if not isinstance(one, Problem)]
    _count(counts, imported.store(agent, found, Source.DATABASE))
    databases.remember(collection, source, stats, agent.agent_id)


def _store(collection, owners, found, facts, counts):
    """Store the decisions of agents here, with the facts that the log in their own workspace tells."""
    for owner, some in owners.sort_out(found).items():
        agent = collection.agents[owner.home_name]
        if collection.only in (None, agent.agent_id):
            with_facts = guardian_log.with_facts(some, facts.get(owner.workspace, []))
            _count(counts, imported.store(agent, with_facts, Source.LOG))
    if collection.only is None:
        news = foreign_decisions.note(collection.home.root, owners.left_out)
        counts["elsewhere"] += sum(news.values())
        collection.home.notes += [foreign_decisions.describe(*each) for each in news.items()]


def _note_consolidations(collection, owners, moments):
    """When the plugin rewrote memory files unasked, for the agents of its workspace."""
    for name, agent in collection.agents.items():
        own = [at for at, folder in moments if owners.has_workspace(name, folder)]
        if own and collection.only in (None, agent.agent_id):
            unattributed.note_consolidations(agent.db, own)


def _count(counts, result):
    for name in ("decisions", "merged", "failed_calls", "withheld"):
        counts[name] += getattr(result, name)


def _remember(collection, states):
    if collection.only is not None:  # decisions of other agents were left out
        return
    for kind, file, stat in states:
        if stat is not None and not (kind == Kind.REFLECTION_LOG and _is_being_written([(kind, file, stat)])):
            collection.book.save(kind, file, stat, agent_id="", offset=stat.st_size)


def _reject(collection, file, line, counts, agent=None):
    """Show a line that cannot be used under Rejected records: of the agent, or of the first one."""
    counts["rejected"] += 1
    owner = agent or next(iter(collection.agents.values()))
    storing.reject(owner.db, collection.book.name(file), [line])


def _match_again(collection, counts):
    """Decisions without a turn, once more: their transcripts may have come with this import."""
    for agent in collection.agents.values():
        report = collection.reports.get(agent.agent_id)
        if report is None:
            continue
        is_whole = bool(report.transcripts["new"]) or collection.is_again
        counts["matched_later"] += imported.match_again(agent, since=None if is_whole else clock.now_ms() - RECENT_MS)
