"""Every key of a session index, read here by its own words: each leads to records, or a reason is known, or neither."""

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
    """One entry of an index: its key, the session it names, and the file it names as that one's transcript."""

    key: str
    session_id: str
    file: str = ""


def read_file_keys(collection: Any, found: HomeAgent, own: Iterable[Source]) -> Iterator[IndexKey]:
    """The keys of an agent's index as a file, when its last import has read what is there now.

    Of an index that agents share, each key is looked at for the agent that it names.
    """
    kind = CollectorSource.Kind.SESSION_INDEX
    source = next((one for one in own if one.kind == kind and one.state == UNCHANGED), None)
    if source is None:
        return
    root = collection.home.root
    try:
        with open_regular(root if source.file.is_relative_to(root) else source.file.parent, source.file) as file:
            entries = orjson.loads(file.read(MOST_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except (NotReadable, orjson.JSONDecodeError):  # it is rejected, or does not change for long
        return
    shared = find_shared_folder(collection, found.sessions)
    for key, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and (shared is None or shared.owner_of_key(key) == found.home_name):
            yield IndexKey(key, _text(entry.get("sessionId")), _text(entry.get("sessionFile")))


def read_database_keys(database: Database) -> Iterator[IndexKey]:
    """The keys of an agent's database that was opened."""
    try:
        for key, session_id in database.ask(OF_NODES) if "session_nodes" in database.columns else ():
            yield IndexKey(decode_text(key), decode_text(session_id))
    except DamagedDatabase:  # somebody else says so
        return


def find_keys_without_records(
    root: Path, agent_id: str, db: str, keys: Iterable[IndexKey], apart: Collection[str]
) -> Iterator[IndexKey]:
    """The keys that lead to no session with records, and for which nobody knows a reason.

    `apart` are sessions that an undone import left out.
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
    for one in keys:
        name = one.file.replace("\\", "/").rpartition("/")[2]
        if one.session_id not in known and one.key not in entries and name not in files:
            yield one


def _text(value):
    return value if isinstance(value, str) else ""
