"""Finds the workspace files of an agent, and reads their contents.

Names and sizes come first; contents are read on request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.homes import NEVER_FOLDERS, NotReadable, describe_note_limits, is_folder, list_names, open_regular

from ..files import MEMORY_FILES, MOST_BYTES

# Some people spell the first one in lower case; where names differ by their spelling, both are read.
LOWER_CASE = "memory.md"
NAMED = (*MEMORY_FILES, LOWER_CASE, "AGENTS.md", "HEARTBEAT.md")
NOTES = "memory"
MOST_FOLDERS, MOST_NOTES, DEEPEST = 500, 20_000, 8  # of the folder of daily notes


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """One file of a workspace, not opened yet; `name` is relative to the workspace."""

    workspace: Path
    name: str
    path: Path
    inode: int
    size: int
    mtime_ns: int


def find_entries(workspaces: Sequence[Path], notes: list[str]) -> Iterator[WorkspaceEntry]:
    """Yield the memory files of workspaces and the notes below `memory/`, in a fixed order.

    A file that an earlier workspace has is not read from a later one. `notes` as for `names_in`.
    """
    known: set[str] = set()
    for workspace in workspaces:
        entries = [entry for entry in _find_own_entries(workspace, notes) if entry.name not in known]
        known |= {entry.name for entry in entries}
        yield from entries


def _find_own_entries(workspace, notes):
    first = _read_entry(workspace, MEMORY_FILES[0])
    for name in NAMED:
        entry = _read_entry(workspace, name)
        is_same = name == LOWER_CASE and entry and first and entry.inode == first.inode
        if entry is not None and not is_same:
            yield entry
    for name in _find_daily_notes(workspace, notes):
        if entry := _read_entry(workspace, name):
            yield entry


def find_entry(workspaces: Sequence[Path], path: Path) -> WorkspaceEntry | None:
    """Return the entry of one file, as `find_entries` gives it; None without a file."""
    inside = [workspace for workspace in workspaces if path.is_relative_to(workspace)]
    workspace = max(inside, key=lambda folder: len(folder.parts))  # one may be in another
    return _read_entry(workspace, path.relative_to(workspace).as_posix())


def _read_entry(workspace, name):
    path = workspace / name
    try:
        stat = path.lstat()
    except OSError:
        return None
    return WorkspaceEntry(workspace, name, path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def _find_daily_notes(workspace: Path, notes: list[str]) -> Iterator[str]:
    """Yield the names of Markdown files below `memory/`, folder by folder.

    Beyond the limits the rest is left out, which is added to `notes`.
    """
    waiting, folder_count, count = [NOTES], 0, 0
    while waiting:
        folder = waiting.pop(0)
        folder_count += 1
        for name in list_names(workspace / folder, notes):
            relative_name, path = f"{folder}/{name}", workspace / folder / name
            if name.endswith(".md") and not is_folder(path):
                count += 1
                if count <= MOST_NOTES:
                    yield relative_name
            elif name not in NEVER_FOLDERS and is_folder(path, notes):
                waiting.append(relative_name)
        if folder_count >= MOST_FOLDERS or count > MOST_NOTES or (waiting and waiting[0].count("/") > DEEPEST):
            notes.append(describe_note_limits(workspace / NOTES, MOST_FOLDERS, MOST_NOTES, DEEPEST))
            return


def read_content(entry: WorkspaceEntry) -> bytes:
    """Return the bytes of a file.

    Raises NotReadable for links, devices and files over 5 MB.
    """
    with open_regular(entry.workspace, entry.path) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise NotReadable(f"over {MOST_BYTES} bytes")
    return data
