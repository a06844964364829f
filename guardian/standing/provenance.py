"""The provenance records of an agent's files: their owners, and their stored history."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from django.db.models import OuterRef, Subquery

from agents.database_copies import Copies, NotCopied
from agents.homes import STATE_DATABASE, NotReadable, normalise_or_empty
from agents.models import Agent, CollectorSource
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import PROVENANCE
from openclaw_web.clock import now_ms
from openclaw_web.sqlite import write_queue

from ..collectors.provenance import Record, is_unfamiliar, read_records
from ..models import ProvenanceRecord
from .files import get_spellings, was_in_workspace

State = ProvenanceRecord.State
MAIN = "main"
MOST_FILES = 500  # of one agent whose records are kept


def assign_records(agents: Mapping[str, Agent], records: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """Assign records to agents: agent id -> file name -> its record.

    `agents` are those of one home, by their names there. The key of a workspace fits only where OpenClaw runs.
    Elsewhere the session key says whose workspace it is: agents with one workspace share its records, and of two keys
    the one with the newer record is taken.
    """
    owners = _Owners(agents)
    records = list(records)
    owners.learn(records)
    assigned: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in sorted(records, key=lambda record: record.observed_at or 0):
        for agent in owners.of_record(record):
            files = assigned[agent.agent_id]
            if record.file_name in files or len(files) < MOST_FILES:
                files[record.file_name] = record
    return assigned


class _Owners:
    """The agents of each workspace, by the keys in records."""

    def __init__(self, agents):
        self.agents = {normalise_or_empty(name): agent for name, agent in agents.items()}
        self.fitting = defaultdict(list)
        for agent in agents.values():
            for key in compute_workspace_keys(agent):
                self.fitting[key].append(agent)
        self.by_key = {}

    def learn(self, records):
        """Learn from session keys which agent has a workspace whose key fits none."""
        known_ids = {agent.agent_id for record in records for agent in self.fitting.get(record.workspace_key, ())}
        for record in sorted(records, key=lambda record: record.observed_at or 0):
            parts = record.session_key.split(":")
            owner = self.agents.get(normalise_or_empty(parts[1] if len(parts) > 2 and parts[0] == "agent" else MAIN))
            if owner is not None and owner.agent_id not in known_ids:
                self.by_key[record.workspace_key] = owner if was_in_workspace(owner, record.observed_at) else None

    def of_record(self, record):
        if record.workspace_key in self.fitting:
            return self.fitting[record.workspace_key]
        owner = self.by_key.get(record.workspace_key)
        if owner is None:
            return []
        sharing_agents = [
            agent for agent in self.agents.values() if owner.workspace and agent.workspace == owner.workspace
        ]
        return sharing_agents or [owner]


def compute_workspace_keys(agent: Agent) -> set[str]:
    """Compute the keys that OpenClaw may give the workspace of an agent.

    They follow from its path here, and from the path that OpenClaw reports.
    """
    paths = {agent.workspace, agent.reported_workspace}
    if agent.workspace:
        paths.add(str(Path(agent.workspace).resolve()))
    return {hashlib.sha256(os.fsencode(path)).hexdigest() for path in paths if path}


def store_records(agent: Agent, records: Mapping[str, Record], *, is_whole: bool) -> int:
    """Add a row for each file whose record changed, and return how many.

    `is_whole`: files that are not in `records` have no record any more.
    """
    now = now_ms()
    current = _find_last_rows(agent.db)
    rows = [_build_row(record, now) for record in _select_changed(current, records).values()]
    if is_whole:
        removed_rows = (row for name, row in current.items() if name not in records and row.state != State.GONE)
        rows += [_build_removal_row(row, now) for row in removed_rows]
    if rows:
        with write_queue.agent_transaction(agent.db):
            ProvenanceRecord.objects.using(agent.db).bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def find_changed(db: str, records: Mapping[str, Record]) -> dict[str, Record]:
    """The records that are not those of the newest rows, by file name."""
    return _select_changed(_find_last_rows(db), records)


def _select_changed(current, records):
    return {
        name: record
        for name, record in records.items()
        if name not in current or _row_columns(current[name]) != _record_columns(record)
    }


def find_newest_rows(db: str, names: Iterable[str] | None = None) -> dict[str, ProvenanceRecord]:
    """Return the row of the present record of each file, by file name.

    `names` limits the files. A file of which OpenClaw has no record any more is left out.
    """
    return {name: row for name, row in _find_last_rows(db, names).items() if row.state != State.GONE}


def _find_last_rows(db, names=None):
    rows = ProvenanceRecord.objects.using(db)
    last = rows.filter(file_name=OuterRef("file_name")).order_by("-first_seen_at", "-id")
    rows = rows.filter(id=Subquery(last.values("id")[:1]))
    return {row.file_name: row for row in (rows if names is None else rows.filter(file_name__in=list(names)))}


def record_from_row(row: ProvenanceRecord) -> Record:
    names = ("file_name", "workspace_key", "file_hash", "origin_class", "observed_at", "session_id", "session_key")
    columns = {name: getattr(row, name) for name in (*names, "version")}
    return Record(**columns, is_known=row.state == State.KNOWN)


def _record_columns(record):
    columns = asdict(record)
    state = State.KNOWN if columns.pop("is_known") else State.UNKNOWN
    return columns | {"state": state.value}


def _row_columns(row):
    return {"state": row.state} if row.state == State.GONE else _record_columns(record_from_row(row))


def _build_row(record, now):
    columns = _record_columns(record)
    return ProvenanceRecord(id=_hash_values([*columns.values(), now]), first_seen_at=now, **columns)


def _build_removal_row(row, now):
    columns = {"file_name": row.file_name, "workspace_key": row.workspace_key, "state": State.GONE.value}
    return ProvenanceRecord(id=_hash_values([*columns.values(), now]), first_seen_at=now, **columns)


def _hash_values(values):
    return hashlib.sha256("\n".join(map(str, values)).encode()).hexdigest()


def read_live_record(agent: Agent, file_name: str) -> Record | None:
    """Return the record that OpenClaw has of a file now; None where it has none.

    Where the state database exists and cannot be read, the record is an unknown one.
    """
    source = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, agent_id=agent.agent_id).first()
    if source is None or not (Path(source.root) / STATE_DATABASE).exists():
        return None
    try:
        records = _read_database(Path(source.root))
    except (DamagedDatabase, NotCopied, NotReadable):
        return Record(file_name)
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=source.root)
    names = dict(claims.values_list("agent_id", "path"))
    agent_records = assign_records(
        {names[agent.agent_id]: agent for agent in Agent.objects.filter(agent_id__in=names)}, records
    ).get(agent.agent_id, {})
    return next((agent_records[name] for name in get_spellings(file_name) if name in agent_records), None)


def _read_database(root):
    with (
        Copies() as copies,
        copies.open_copy(root, root / STATE_DATABASE) as copy,
        Database(copy.path, {}, (PROVENANCE,)) as database,
    ):
        if is_unfamiliar(database):
            raise DamagedDatabase(f"{PROVENANCE.table} has other columns than any known version")
        return list(read_records(database, now_ms()))
