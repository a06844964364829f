"""Reads OpenClaw's state database as it is now, without waiting for the next import."""

from pathlib import Path

from agents.database_copies import Copies, NotCopied
from agents.homes import STATE_DATABASE, NotReadable
from agents.models import Agent, CollectorSource
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import PROVENANCE
from openclaw_web.clock import now_ms

from ..collectors.provenance import Record, is_unfamiliar, read_records
from .files import get_spellings
from .provenance import assign_records


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
    agent_records = assign_records(_find_agents(source.root), records).get(agent.agent_id, {})
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


def _find_agents(root):
    """Return the agents of a home by their names there."""
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=root)
    names = dict(claims.values_list("agent_id", "path"))
    return {names[agent.agent_id]: agent for agent in Agent.objects.filter(agent_id__in=names)}
