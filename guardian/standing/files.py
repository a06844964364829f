"""The memory files of a workspace that OpenClaw may put into prompts, as they are now."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db.models import OuterRef, Subquery

from agents.homes import NotReadable, open_regular
from agents.models import Agent
from ledger.models import IndexedFile

from ..collectors.workspace import LOWER_CASE
from ..files import MEMORY_FILES, MOST_BYTES
from ..models import FileSnapshot

# The files that OpenClaw leaves out of prompts when their record says untrusted.
GUARDED = ("MEMORY.md", "USER.md")
MOST_DATABASES = 10  # of one agent that hold memory indexes


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A memory file as it is now.

    `chars` as OpenClaw counts them, `changed_at` in milliseconds.
    """

    is_there: bool = False
    is_readable: bool = True
    is_linked: bool = False  # a link, or a file with a second name
    sha256: str = ""
    chars: int = 0
    changed_at: int = 0


def get_spellings(name: str) -> tuple[str, ...]:
    """Return the names that a file may have in a workspace, the usual one first."""
    return (name, LOWER_CASE) if name == MEMORY_FILES[0] else (name,)


def read_files(agent: Agent, names: Sequence[str]) -> dict[str, CurrentFile]:
    """Read files of the agent's workspace, or their newest stored versions.

    Stored versions are used where the workspace is not on this machine.
    """
    folder = Path(agent.workspace) if agent.workspace else None
    if folder is None or not folder.is_dir():
        return _read_stored_files(agent, names)
    return {name: _read_file(folder, name) for name in names}


def _read_file(folder, name):
    for spelling in get_spellings(name):
        path = folder / spelling
        is_linked = False
        try:
            stat = path.lstat()
            is_linked = path.is_symlink() or stat.st_nlink > 1
            with open_regular(folder, path) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            continue
        except (NotReadable, OSError):
            return CurrentFile(is_there=True, is_readable=False, is_linked=is_linked)
        return CurrentFile(True, True, False, hash_content(data), count_chars(data), stat.st_mtime_ns // 1_000_000)
    return CurrentFile()


def _read_stored_files(agent, names):
    versions = FileSnapshot.objects.using(agent.db)
    newest = versions.filter(file_name=OuterRef("file_name")).order_by("-created_at", "-id").values("id")[:1]
    rows = {row.file_name: row for row in versions.filter(file_name__in=names, id=Subquery(newest))}
    return {name: _from_version(rows[name]) if name in rows else CurrentFile() for name in names}


def _from_version(row):
    return CurrentFile(True, True, False, row.content_hash, count_chars(row.content.encode()), row.created_at)


def count_search_chunks(agent: Agent, name: str) -> int | None:
    """Return how many chunks of a file the agent's memory search holds; None without any."""
    rows, database = IndexedFile.objects.using(agent.db), ""
    for _number in range(MOST_DATABASES):  # one step in the index for each database
        later_databases = rows.filter(database__gt=database).order_by("database").values_list("database", flat=True)
        if (database := later_databases.first() or "") == "":
            return None
        counts = rows.filter(database=database, source="memory", path=name).values_list("chunk_count", flat=True)
        if (count := next(iter(counts[:1]), None)) is not None:
            return count
    return None


def hash_content(data: bytes) -> str:
    """Return the hash that a record has for this content."""
    return hashlib.sha256(data).hexdigest()


def count_chars(data: bytes) -> int:
    """Count the characters of a file as OpenClaw does: UTF-16 units, without blanks at the end."""
    return len(data.decode(errors="replace").rstrip().encode("utf-16-le")) // 2
