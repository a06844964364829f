"""Keys of session indexes that lead to no records, read without the importer's code."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agents import holdings
from agents.homes import HomeAgent, NotReadable, open_regular
from agents.models import CollectorSource, SkippedSource
from collecting.inventory.shared_folders import find_shared_folder
from ledger.collectors.agent_database import decode_text
from ledger.collectors.database import DamagedDatabase, Database
from ledger.models import RemovedSession, Session

from .home_sources import UNCHANGED, Source

Kind, Reason = SkippedSource.Kind, SkippedSource.Reason
MOST_BYTES = 64 * 1024 * 1024
OF_NODES = "SELECT session_key, current_session_id FROM session_nodes"


@dataclass(frozen=True, slots=True)
class IndexKey:
    """An entry of an index: its key, the session and the transcript file that it names."""

    key: str
    session_id: str
    file: str = ""


def read_file_keys(collection: Any, home_agent: HomeAgent, own: Iterable[Source]) -> Iterator[IndexKey]:
    """The keys of an agent's index file, when its last import read the current content.

    In an index that agents share, each key belongs to the agent that it names.
    """
    kind = CollectorSource.Kind.SESSION_INDEX
    source = next((candidate for candidate in own if candidate.kind == kind and candidate.state == UNCHANGED), None)
    if source is None:
        return
    root = collection.home.root
    try:
        with open_regular(root if source.file.is_relative_to(root) else source.file.parent, source.file) as file:
            entries = orjson.loads(file.read(MOST_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except (NotReadable, orjson.JSONDecodeError):  # the import rejects it, or it is about to change
        return
    shared = find_shared_folder(collection, home_agent.sessions)
    for key, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and (shared is None or shared.find_key_owner(key) == home_agent.home_name):
            yield IndexKey(key, _text(entry.get("sessionId")), _text(entry.get("sessionFile")))


def read_database_keys(database: Database) -> Iterator[IndexKey]:
    """The keys of an agent's open database."""
    try:
        for key, session_id in database.ask(OF_NODES) if "session_nodes" in database.columns else ():
            yield IndexKey(decode_text(key), decode_text(session_id))
    except DamagedDatabase:  # another check reports the damage
        return


def find_keys_without_records(
    root: Path, agent_id: str, db: str, keys: Iterable[IndexKey], apart: Collection[str]
) -> Iterator[IndexKey]:
    """The keys that lead to no session with records, and have no known reason for that.

    `apart` are sessions that an undone import excluded.
    """
    full = set(Session.objects.using(db).filter(record_count__gt=0).values_list("id", flat=True))
    removed = set(RemovedSession.objects.using(db).values_list("session_id", flat=True))
    rows = SkippedSource.objects.filter(root=str(root), agent_id=agent_id).exclude(reason=Reason.NO_RECORDS)
    entries, sessions, files = set[str](), set[str](), set[str]()
    for row in rows.iterator():
        if row.kind == Kind.INDEX_ENTRY:
            entries.add(row.path)
        else:
            sessions.add(row.session_id)
            files.add(row.path.rpartition("/")[2])
    known = full | removed | holdings.read_removed(agent_id).keys() | sessions | set(apart)
    for key in keys:
        name = key.file.replace("\\", "/").rpartition("/")[2]
        if key.session_id not in known and key.key not in entries and name not in files:
            yield key


def _text(value):
    return value if isinstance(value, str) else ""
