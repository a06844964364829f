"""Reads OpenClaw's records of the last writer of memory files.

They are in its state database. This module does not use Django.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ledger.collectors.database import Database
from ledger.collectors.database_tables import PROVENANCE
from ledger.collectors.jsonl import load_object
from ledger.collectors.records import parse_moment_ms

from ..files import MEMORY_FILES

KNOWN_VERSION = 1
AGENT, UNTRUSTED = "agent", "untrusted"
CLASSES = (AGENT, UNTRUSTED)
SHA256 = re.compile(r"[0-9a-f]{64}")
KEY = re.compile(r"([0-9a-f]{64}):([0-9a-f]{64})")
MOST_CHARACTERS = 512  # of a path, an id or a key
# Names of files by the hash that stands in the key of a record whose own text cannot be read.
NAME_OF = {hashlib.sha256(name.encode()).hexdigest(): name for name in MEMORY_FILES}


@dataclass(frozen=True, slots=True)
class Record:
    """The provenance record of one file.

    With `is_known` false nobody can say what OpenClaw will do with the file. `workspace_key` is the hash of the
    workspace's real path where OpenClaw runs, `observed_at` is in milliseconds.
    """

    file_name: str
    workspace_key: str = ""
    file_hash: str = ""
    origin_class: str = ""
    observed_at: int | None = None
    session_id: str = ""
    session_key: str = ""
    version: int | None = None
    is_known: bool = False

    @property
    def is_trusted(self) -> bool:
        """Whether OpenClaw takes the file for the agent's own."""
        return self.is_known and self.origin_class == AGENT

    @property
    def is_untrusted(self) -> bool:
        """Whether OpenClaw leaves the file out of prompts."""
        return self.is_known and self.origin_class == UNTRUSTED


def has_records(database: Database) -> bool:
    """Return whether a state database has the table of the records."""
    return database.has(PROVENANCE.name, *PROVENANCE.columns)


def is_unfamiliar(database: Database) -> bool:
    """Return whether the table of the records has a shape that no known version gives it."""
    return not has_records(database) and PROVENANCE.table in (*database.tables, *database.computed)


def read_records(database: Database, now: int) -> Iterator[Record]:
    """Yield the records of all workspaces that have not expired before `now`.

    Raises DamagedDatabase for an unreadable database.
    """
    for key, value, expires_at in database.rows(PROVENANCE.name, *PROVENANCE.columns):
        parts = KEY.fullmatch(key.decode(errors="replace")) if isinstance(key, bytes) else None
        is_expired = isinstance(expires_at, int) and 0 < expires_at <= now
        if parts and not is_expired and (record := read_record(parts[1], parts[2], value)):
            yield record


def read_record(workspace_key: str, path_hash: str, value: object) -> Record | None:
    """Return the record under a key.

    None for an unreadable record, unless the hash of the path is that of a memory file.
    """
    try:
        fields = load_object(value) if isinstance(value, bytes) else {}
    except ValueError:
        fields = {}
    name = _read_text(fields, "relativePath")
    if hashlib.sha256(name.encode(errors="replace")).hexdigest() != path_hash:
        name = NAME_OF.get(path_hash, "")
        fields = {}
    if not name:
        return None
    version = fields.get("version")
    file_hash, origin_class = _read_text(fields, "fileHash"), _read_text(fields, "originClass")
    is_first_version = version == KNOWN_VERSION and not isinstance(version, bool) and "segments" not in fields
    return Record(
        file_name=name,
        workspace_key=workspace_key,
        file_hash=file_hash,
        origin_class=origin_class,
        observed_at=parse_moment_ms(fields.get("observedAt")),
        session_id=_read_text(fields, "sessionId"),
        session_key=_read_text(fields, "sessionKey"),
        version=version if isinstance(version, int) and 0 <= version < 2**31 else None,
        is_known=is_first_version and origin_class in CLASSES and bool(SHA256.fullmatch(file_hash)),
    )


def _read_text(fields, name):
    value = fields.get(name)
    is_usable = isinstance(value, str) and len(value) <= MOST_CHARACTERS and "\x00" not in value
    return value if is_usable and value.isprintable() else ""
