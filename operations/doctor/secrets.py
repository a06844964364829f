"""What is skipped on purpose, by name: places of secrets, tables and files that nobody here reads."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, is_text

SECRET = re.compile(r"auth|token|secret|credential|password|device|identit|pairing|approval|key|oauth|vapid|push", re.I)
# What a collect knows of a home, by the first names of a path.
READ = frozenset(
    {
        "agents",
        "cron",
        "subagents",
        "state",
        "memory",
        "openclaw.json",
        "sessions",
        "agent",
        "session-sqlite-import-archive",
    }
)
DATABASE = re.compile(r"openclaw(-agent)?\.sqlite(-wal|-shm)?")
BUNDLES = "trajectory-exports"
BESIDE = ("-wal", "-shm")  # what SQLite keeps beside a database that is read
# Folders of a home of which a collect reads some files and passes over the rest.
PARTLY_READ = ("cron", "cron/runs", "memory", "subagents")


def why_not_read(name: str) -> str:
    """`secret` for what may hold one, by its name; `not_listed` for everything else."""
    return "secret" if SECRET.search(name) else "not_listed"


def places_left(root: Path, workspaces: set[Path], agents: list[Path], read: set[Path]) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened: those at its top, of its state and of each agent, and what
    stands beside the files `read` in folders and workspaces of which only some are. Names only; nothing is opened.
    """
    found = []
    for folder in [root, root / "state", *(inner for agent in agents for inner in (agent, agent / "agent"))]:
        for entry in _entries(folder):
            path = Path(entry.path)
            if entry.name in READ or path in workspaces or DATABASE.fullmatch(entry.name):
                continue
            found.append(_place(root, path))
    beside = [root / name for name in PARTLY_READ] + [
        folder for workspace in sorted(workspaces) for folder in (workspace, workspace / "memory")
    ]
    known = read | {parent for file in read for parent in file.parents}
    for folder in beside:
        for entry in _entries(folder):
            path = Path(entry.path)
            is_of_one = entry.name.endswith(BESIDE) and path.with_name(entry.name[:-4]) in read
            has_bundles = (path / BUNDLES).is_dir() and folder in workspaces  # of runs, which are read
            if path not in known and not is_of_one and not has_bundles:
                found.append(_place(root, path))
    return found


def _place(root, path):
    why = "secret" if path.name in NEVER_NAMES else why_not_read(path.name)
    return {"path": path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path), "why": why}


def _entries(folder) -> Iterator[os.DirEntry]:
    if folder.is_dir() and not folder.is_symlink():
        with os.scandir(folder) as entries:
            yield from sorted((entry for entry in entries if is_text(entry.name)), key=lambda entry: entry.name)
