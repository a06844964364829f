"""What is skipped on purpose, by name: places of secrets, tables and files that nobody here reads."""

import re
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, names_in
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


def places_left(
    root: Path, workspaces: set[Path], agents: list[Path], memories: set[str], notes: list[str]
) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened: at its top, and in the folders of which something is read.

    `notes` as for `homes.names_in`.
    """
    found = []
    inside = [inner for agent in agents for inner in (agent, agent / "agent")]
    for folder in [root, root / "state", root / "cron", root / "memory", root / "memory" / "openclaw-mem", *inside]:
        for name in names_in(folder, notes):
            path = folder / name
            if name in READ or path in workspaces or DATABASE.fullmatch(name):
                continue
            if folder.name == "memory" and name in memories:
                continue
            why = "secret" if name in NEVER_NAMES else why_not_read(name)
            found.append({"path": path.relative_to(root).as_posix(), "why": why})
    return [*found[:MOST], *_left_in_workspaces(root, workspaces, notes)]


def _left_in_workspaces(root, workspaces, notes):
    """What lies at the top of workspaces besides the files that are read."""
    for folder in sorted(workspaces):
        names = [name for name in names_in(folder, notes) if name not in (*NAMED, "memory")]
        for name in names[:MOST]:
            path = folder / name
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            yield {"path": shown.as_posix(), "why": why_not_read(name)}
