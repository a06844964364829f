"""The memory files that OpenClaw puts into prompts, as they are in a workspace now."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from agents.homes import NotReadable, open_regular
from agents.models import Agent

from .. import versions
from ..collectors.workspace import LOWER_CASE
from ..files import MEMORY_FILES, MOST_BYTES

# The files that OpenClaw leaves out of prompts when their record says untrusted.
GUARDED = ("MEMORY.md", "USER.md")


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """What a memory file holds now; `chars` as OpenClaw counts them, `changed_at` in milliseconds."""

    is_there: bool = False
    is_linked: bool = False
    sha256: str = ""
    chars: int = 0
    changed_at: int = 0


def spellings(name: str) -> tuple[str, ...]:
    """The names under which a file may lie in a workspace, the usual one first."""
    return (name, LOWER_CASE) if name == MEMORY_FILES[0] else (name,)


def read_file(agent: Agent, name: str) -> CurrentFile:
    """The file in the agent's workspace; where the workspace is not on this machine, its newest stored version."""
    folder = Path(agent.workspace) if agent.workspace else None
    if folder is None or not folder.is_dir():
        return _stored(agent, name)
    for spelling in spellings(name):
        path = folder / spelling
        try:
            stat = path.lstat()
            with open_regular(folder, path) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            continue
        except NotReadable:
            return CurrentFile(is_there=True, is_linked=True)
        except OSError:
            return _stored(agent, name)
        return CurrentFile(True, False, hash_of(data), count_chars(data), stat.st_mtime_ns // 1_000_000)
    return CurrentFile()


def hash_of(data: bytes) -> str:
    """The hash that a record has of these bytes."""
    return hashlib.sha256(data).hexdigest()


def count_chars(data: bytes) -> int:
    """How many characters of a file OpenClaw counts: UTF-16 units, without blanks at the end."""
    return len(data.decode(errors="replace").rstrip().encode("utf-16-le")) // 2


def _stored(agent, name):
    version = versions.newest(agent, name)
    if version is None:
        return CurrentFile()
    return CurrentFile(True, False, version.content_hash, count_chars(version.content.encode()), version.created_at)
