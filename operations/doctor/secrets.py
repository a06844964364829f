"""What is skipped on purpose, by name: places of secrets, tables and files that nobody here reads."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, is_text
from guardian.collectors.workspace import NAMED

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
        "jobs.json",
        "runs",
        "openclaw-mem",
        "artifacts",
    }
)
DATABASE = re.compile(r"openclaw(-agent)?\.sqlite(-wal|-shm)?")
MOST = 200


def why_not_read(name: str) -> str:
    """`secret` for what may hold one, by its name; `not_listed` for everything else."""
    return "secret" if SECRET.search(name) else "not_listed"


def places_left(root: Path, workspaces: set[Path], agents: list[Path], memories: set[str]) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened: at its top, and in the folders of which something is read."""
    found = []
    inside = [inner for agent in agents for inner in (agent, agent / "agent")]
    for folder in [root, root / "state", root / "cron", root / "memory", root / "memory" / "openclaw-mem", *inside]:
        for entry in _entries(folder):
            path = Path(entry.path)
            if entry.name in READ or path in workspaces or DATABASE.fullmatch(entry.name):
                continue
            if folder.name == "memory" and entry.name in memories:
                continue
            why = "secret" if entry.name in NEVER_NAMES else why_not_read(entry.name)
            found.append({"path": path.relative_to(root).as_posix(), "why": why})
    return [*found[:MOST], *_left_in_workspaces(root, workspaces)]


def _left_in_workspaces(root, workspaces):
    """What lies at the top of workspaces besides the files that are read."""
    for folder in sorted(workspaces):
        names = [entry.name for entry in _entries(folder) if entry.name not in (*NAMED, "memory")]
        for name in names[:MOST]:
            path = folder / name
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            yield {"path": shown.as_posix(), "why": why_not_read(name)}


def _entries(folder) -> Iterator[os.DirEntry]:
    if folder.is_dir() and not folder.is_symlink():
        with os.scandir(folder) as entries:
            yield from sorted((entry for entry in entries if is_text(entry.name)), key=lambda entry: entry.name)
