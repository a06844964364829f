"""The files an agent keeps about itself, as they are on disk now. Reads names and sizes first, contents when asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.homes import NotReadable, names_in, open_regular

from ..files import MEMORY_FILES, MOST_BYTES

NAMED = (*MEMORY_FILES, "AGENTS.md", "HEARTBEAT.md")


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """One file of a workspace, not opened yet; `name` is relative to the workspace."""

    name: str
    path: Path
    inode: int
    size: int
    mtime_ns: int


def entries(workspace: Path, notes: list[str]) -> Iterator[WorkspaceEntry]:
    """The memory files of a workspace and its `memory/*.md`, in a fixed order; `notes` as for `homes.names_in`."""
    daily = [name for name in names_in(workspace / "memory", notes) if name.endswith(".md")]
    names = [*NAMED, *(f"memory/{name}" for name in daily)]
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
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise NotReadable(f"over {MOST_BYTES} bytes")
    return data
