"""What is skipped on purpose, by name: places of secrets, tables and files that nobody here reads."""

import re
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, names_in

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
MOST = 200


def why_not_read(name: str) -> str:
    """`secret` for what may hold one, by its name; `not_listed` for everything else."""
    return "secret" if SECRET.search(name) else "not_listed"


def places_left(root: Path, workspaces: set[Path], agents: list[Path], notes: list[str]) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened: those at its top, of its state and of each agent.

    `notes` as for `homes.names_in`.
    """
    found = []
    for folder in [root, root / "state", *(inner for agent in agents for inner in (agent, agent / "agent"))]:
        for name in names_in(folder, notes):
            path = folder / name
            if name in READ or path in workspaces or DATABASE.fullmatch(name):
                continue
            why = "secret" if name in NEVER_NAMES else why_not_read(name)
            found.append({"path": path.relative_to(root).as_posix(), "why": why})
    return found[:MOST]
