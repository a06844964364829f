"""The files an agent keeps about itself, as they are on disk now. Reads names and sizes first, contents when asked."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.homes import NotReadable, is_text, open_regular

from ..files import MEMORY_FILES

NAMED = (*MEMORY_FILES, "AGENTS.md", "HEARTBEAT.md")
MAX_BYTES = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """One file of a workspace, not opened yet; `name` is relative to the workspace."""

    name: str
    path: Path
    inode: int
    size: int
    mtime_ns: int


def entries(workspace: Path) -> Iterator[WorkspaceEntry]:
    """The memory files of a workspace and its `memory/*.md`, in a fixed order."""
    daily = workspace / "memory"
    names = [*NAMED]
    if daily.is_dir() and not daily.is_symlink():
        names += sorted(f"memory/{file.name}" for file in daily.glob("*.md") if is_text(file.name))
    for name in names:
        path = workspace / name
        try:
            stat = path.lstat()
        except OSError:
            continue
        yield WorkspaceEntry(name, path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def content(workspace: Path, entry: WorkspaceEntry) -> bytes:
    """The bytes of a file. Raises NotReadable for links, devices and files over 5 MB."""
    with open_regular(workspace, entry.path) as file:
        # An agent may write here: a second name of one file could be that of a key.
        if os.fstat(file.fileno()).st_nlink > 1:
            raise NotReadable("it has another name elsewhere (a hard link)")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise NotReadable(f"over {MAX_BYTES} bytes")
    return data
