"""Imports decisions of the Reflection plugin from its logs and its `reflection.db`."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents.homes import stat_regular
from agents.models import CollectorSource
from gate.collectors import reflection_db
from gate.collectors.batches import count_row_bytes, split_batches
from gate.collectors.source_decisions import Rejection
from gate.models import MemoryGateDecision
from gate.recording import api_import, decision_store, foreign_decisions, log_import
from gate.recording.log_import import parse_key_agent
from guardian.recording import snapshot_matching
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.jsonl import Line
from ledger.transcripts import reported_turns, transcript_store
from openclaw_web import clock
from people.configuration import setting_values as configuration

from .. import joining, visits
from . import log_owners, plugin_logs, source_databases
from .source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
Source = MemoryGateDecision.Source
FOLDER = "reflection.logFolder"
OWN = ".openclaw-reflection"
WRITTEN, DATABASE = "write-guardian.log.jsonl", "reflection.db"
AT_ONCE = 50  # maximum of decisions of a database in memory, each with a window
NAMES = (
    *(
        "turns",
        "decisions",
        "merged",
        "failed_calls",
        "withheld",
        "elsewhere",
        "rejected",
        "matched_later",
        "unknown_lines",
    ),
    "equal_lines",
)
RECENT_MS = 2 * 86_400_000  # decisions without a turn that each import tries to match again


def collect(collection: Any) -> dict[str, int]:
    """Read new decisions; returns counts of decisions, failed calls and rejections."""
    counts = Counter(dict.fromkeys(NAMES, 0))
    # Import the `reflection.db` in the plugin's folder of each workspace.
    for home_agent in collection.home.agents:
        source = home_agent.workspace / OWN / DATABASE if home_agent.workspace else None
        if source is None or stat_regular(source) is None or source_databases.is_known(collection, source):
            continue
        agent = collection.agents.get(home_agent.home_name)
        if agent is None or collection.only not in (None, agent.agent_id):
            continue
        _import_database(collection, agent, source, counts)
    if configuration.is_on(api_import.ENABLED_SETTING):
        _import_logs(collection, counts)
        _match_again(collection, counts)
    return dict(counts)


def _import_logs(collection, counts):
    folder = configuration.get_text(FOLDER)
    if not folder:
        return
    if not Path(folder).is_dir():
        words = {"path": folder}
        collection.home.notes.append(_("The log folder of the Reflection plugin is not there: %(path)s.") % words)
        return
    place, written = Path(folder), _find_guardian_logs(collection)
    files = plugin_logs.list_files(collection, place)
    owners = log_owners.LogOwners(collection)
    progress = plugin_logs.resume(collection, owners, place, files, written)
    new = [file for file in files if not plugin_logs.is_known(collection, Kind.REFLECTION_LOG, file)]
    is_new = new or not all(plugin_logs.is_known(collection, Kind.GUARDIAN_LOG, file) for file in written)
    is_again = plugin_logs.must_look_again(collection, owners, place)
    if not (is_new or is_again or (progress and progress.is_open)):
        return
    if progress:
        _read_logs(collection, owners, progress, files[files.index(progress.last) :], written, counts, goes_on=True)
    else:  # conversations continue after midnight: messages of the day before belong to them
        start = 0 if is_again else max(0, (files.index(new[0]) if new else len(files)) - 1)
        progress = plugin_logs.LogProgress()
        _read_logs(collection, owners, progress, files[start:], written, counts, goes_on=False)
    plugin_logs.save_progress(collection, owners, place, progress)


def _read_logs(collection, owners, progress, files, written, counts, *, goes_on):
    reader = progress.reader

    def on_problem(file, line):
        _reject(collection, file, line, counts)

    for batch in plugin_logs.read_decisions(collection, progress, files, on_problem):
        _store_batch(collection, owners, batch, counts, progress)
    counts["unknown_lines"] += sum(reader.unknown.values())
    counts["equal_lines"] += reader.equal
    for file in written:
        pairs = plugin_logs.read_facts(collection, progress, file, goes_on=goes_on)
        for pair_batch in split_batches(pairs, count_row_bytes):
            _add_facts(collection, pair_batch)
    if collection.only is None:
        new_counts = foreign_decisions.count_new(collection.home.root, owners.left_out)
        counts["elsewhere"] += sum(new_counts.values())
        collection.home.notes += [foreign_decisions.describe_workspace(*each) for each in new_counts.items()]
    # Note when the plugin rewrote memory files by itself, for agents of its workspace.
    for name, agent in collection.agents.items():
        own = [at for at, folder in reader.consolidations if owners.has_workspace(name, folder)]
        if own and collection.only in (None, agent.agent_id):
            snapshot_matching.store_consolidations(agent.db, own)


def _add_facts(collection, pairs):
    agents = {agent.agent_id: agent for agent in collection.agents.values()}
    by_agent: dict[str, dict[str, str]] = {}
    for agent_id, decision_id, fact in pairs:
        by_agent.setdefault(agent_id, {})[decision_id] = fact
    for agent_id, facts in by_agent.items():
        if agent_id in agents and collection.only in (None, agent_id):
            log_import.add_facts(agents[agent_id], facts)


def _find_guardian_logs(collection):
    """The log of write_guardian in each workspace."""
    folders = [home_agent.workspace for home_agent in collection.home.agents if home_agent.workspace]
    return [file for folder in folders if stat_regular(file := folder / OWN / WRITTEN)]


def _import_database(collection, agent, source, counts):
    stats = source_databases.read_stats(source)
    try:
        with source_databases.open_copy(collection, source, reflection_db.TABLES, root=source.parents[1]) as database:
            _import_turns(collection, agent, source, database, counts)
            if not configuration.is_on(api_import.ENABLED_SETTING):
                return
            for rows in split_batches(reflection_db.read(database), lambda _row: 0, AT_ONCE):
                _store_rows(collection, agent, source, rows, counts)
    except (UnreadableDatabase, DamagedDatabase) as exc:
        counts["rejected"] += 1
        words = {"file": collection.book.name(source), "reason": source_databases.describe_failure(exc)}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    peers = [peer.home_name for peer in collection.home.agents if peer.workspace == source.parents[1]]
    if collection.agents.keys() >= {*peers}:
        source_databases.note_read(collection, source, stats, agent.agent_id)


def _import_turns(collection, agent, source, database, counts):
    """Import the sessions and turns of a database."""
    from ..schemas import SessionIn, TurnIn  # only here: few homes have such a database

    def reject(detail):
        place = int(decision_store.hash_body(detail.encode(errors="replace"))[:8], 16)  # of this problem alone
        _reject(collection, source, Line(place, place, b"", None, "bad_turn", detail), counts, agent)

    owners = {agent.agent_id: agent}
    for batch in split_batches(reflection_db.read_sessions(database), lambda _row: 0, AT_ONCE):
        for owner, sessions in _group_by_owner(collection, agent, source, batch, SessionIn, reject):
            reported_turns.upsert_sessions(owner, sessions)
            owners[owner.agent_id] = owner
    for batch in split_batches(reflection_db.read_turns(database), lambda row: len(str(row)), AT_ONCE):
        for owner, turns in _group_by_owner(collection, agent, source, batch, TurnIn, reject):
            stored = reported_turns.store_turns(owner, turns)
            counts["turns"] += len(stored.new)
            counts["withheld"] += stored.withheld
            for turn_id in stored.changed:
                reject(f"{turn_id}: it was reported before with other words")
    for owner in owners.values():
        joining.join_turns(owner)


def _group_by_owner(collection, agent, source, rows, schema, reject):
    """Rows in the form of `schema`, by their agent: that of their key, else the one whose database it is.

    The database of a workspace is not trusted about an agent with another workspace.
    """
    peers = {home_agent.home_name.lower(): home_agent for home_agent in collection.home.agents}
    owners = {"": agent, **collection.agents}  # without those whose file is lost: their rows wait for it
    groups: dict[str, list[Any]] = {}
    for row in rows:
        name = parse_key_agent(str(row.get("session_id", row["id"]))).lower()
        peer = peers.get(name)
        try:
            if peer is None and name not in ("", agent.agent_id):
                raise ValueError(f"its session is of the agent {name}, which is not here")
            if peer is not None and peer.workspace != source.parents[1]:
                raise ValueError(f"its session is of the agent {name}, which has another workspace")
            groups.setdefault(peer.home_name if peer else "", []).append(schema(**row))
        except ValueError as exc:  # also of pydantic, about a value
            reject(f"{str(row['id'])[:200]}: {exc}")
    return [(owners[name], owned) for name, owned in groups.items() if name in owners]


def _store_rows(collection, agent, source, rows, counts):
    for problem in rows:
        if isinstance(problem, Rejection):
            _reject(collection, source, Line(0, 0, b"", None, problem.reason, problem.detail), counts, agent)
    decisions = [item for item in rows if not isinstance(item, Rejection)]
    _add_counts(counts, log_import.import_decisions(agent, decisions, Source.DATABASE))


def _store_batch(collection, owners, batch, counts, progress):
    """Store decisions of agents here; those without a fact wait for it in their workspace."""
    for owner, owned in owners.group_by_owner(batch).items():
        agent = collection.agents[owner.home_name]
        if collection.only in (None, agent.agent_id):
            _add_counts(counts, log_import.import_decisions(agent, owned, Source.LOG))
        for decision in owned:
            if decision.fact is None and not decision.failure:
                pairs = progress.pairs_of(owner.workspace)
                pairs.add_decision(decision.at, decision.decision, decision.id, agent.agent_id)


def _add_counts(counts, result):
    for name in ("decisions", "merged", "failed_calls", "withheld"):
        counts[name] += getattr(result, name)


def _reject(collection, file, line, counts, agent=None):
    """Store an unusable line as rejected, for the agent or the first one."""
    counts["rejected"] += 1
    owner = agent or next(iter(collection.agents.values()))
    transcript_store.store_rejected_lines(owner.db, collection.book.name(file), [line])


def _match_again(collection, counts):
    """Match decisions without a turn again: this import may have brought their transcripts."""
    for agent in visits.list_visited(collection):
        is_whole = bool(collection.reports[agent.agent_id].transcripts["new"]) or collection.is_again
        counts["matched_later"] += log_import.rematch_turns(
            agent, since=None if is_whole else clock.now_ms() - RECENT_MS
        )
