"""What is skipped on purpose, by name: places of secrets, tables and files that nobody here reads."""

import re
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, is_folder, list_names

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
PARTLY_READ = ("cron", "cron/runs", "memory", "memory/openclaw-mem", "subagents")


def get_skip_reason(name: str) -> str:
    """`secret` for what may hold one, by its name; `not_listed` for everything else."""
    return "secret" if SECRET.search(name) else "not_listed"


def find_skipped_places(
    root: Path, workspaces: set[Path], agents: list[Path], read: set[Path], notes: list[str]
) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened: those at its top, of its state and of each agent, and what
    stands beside the files `read` in folders and workspaces of which only some are. Names only; nothing is opened.

    `notes` as for `homes.names_in`.
    """
    found = []
    inside = [inner for agent in agents for inner in (agent, agent / "agent")]
    for folder in [root, root / "state", *inside]:
        for name in list_names(folder, notes):
            path = folder / name
            if name in READ or path in workspaces or DATABASE.fullmatch(name):
                continue
            found.append(_place(root, path))
    beside = [root / name for name in PARTLY_READ] + [
        folder for workspace in sorted(workspaces) for folder in (workspace, workspace / "memory")
    ]
    partly = {root / name for name in PARTLY_READ} | {root / "memory" / "openclaw-mem" / "artifacts"}
    known = read | {parent for file in read for parent in file.parents}
    for folder in beside:
        for name in list_names(folder, notes):
            path = folder / name
            is_of_one = name.endswith(BESIDE) and path.with_name(name[:-4]) in read
            has_bundles = is_folder(path / BUNDLES) and folder in workspaces  # of runs, which are read
            if path not in known and not is_of_one and not has_bundles and path not in partly:
                found.append(_place(root, path))
    return found


def _place(root, path):
    why = "secret" if path.name in NEVER_NAMES else get_skip_reason(path.name)
    return {"path": path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path), "why": why}
