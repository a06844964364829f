"""Files, folders and tables that are skipped by name, such as secrets."""

import re
from pathlib import Path
from typing import Any

from agents.homes import NEVER_NAMES, is_folder, list_names

SECRET = re.compile(r"auth|token|secret|credential|password|device|identit|pairing|approval|key|oauth|vapid|push", re.I)
# Names at the top of a home that an import reads.
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
BESIDE = ("-wal", "-shm")  # files of SQLite beside a database
# Folders of a home of which an import reads only some files.
PARTLY_READ = ("cron", "cron/runs", "memory", "memory/openclaw-mem", "subagents")


def get_skip_reason(name: str) -> str:
    """`secret` for a name that may hold a secret, else `not_listed`."""
    return "secret" if SECRET.search(name) else "not_listed"


def find_skipped_places(
    root: Path, workspaces: set[Path], agents: list[Path], read: set[Path], notes: list[str]
) -> list[dict[str, Any]]:
    """Files and folders of a home that are never opened, found by name only.

    These are entries of the home, of its state and of each agent, and entries beside the files `read` in folders and
    workspaces that are read in part. `notes` as for `homes.list_names`.
    """
    places = []
    agent_folders = [inner for agent in agents for inner in (agent, agent / "agent")]
    for folder in [root, root / "state", *agent_folders]:
        for name in list_names(folder, notes):
            path = folder / name
            if name in READ or path in workspaces or DATABASE.fullmatch(name):
                continue
            places.append(_describe_place(root, path))
    partly_read = [root / name for name in PARTLY_READ] + [
        folder for workspace in sorted(workspaces) for folder in (workspace, workspace / "memory")
    ]
    partly = {root / name for name in PARTLY_READ} | {root / "memory" / "openclaw-mem" / "artifacts"}
    known = read | {parent for file in read for parent in file.parents}
    for folder in partly_read:
        for name in list_names(folder, notes):
            path = folder / name
            is_database_file = name.endswith(BESIDE) and path.with_name(name[:-4]) in read
            has_bundles = is_folder(path / BUNDLES) and folder in workspaces  # the bundles of runs in it are read
            if path not in known and not is_database_file and not has_bundles and path not in partly:
                places.append(_describe_place(root, path))
    return places


def _describe_place(root, path):
    why = "secret" if path.name in NEVER_NAMES else get_skip_reason(path.name)
    return {"path": path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path), "why": why}
