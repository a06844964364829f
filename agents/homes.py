"""An OpenClaw home on disk: which agents it has, where their files are, and the only way a file of it is opened.

Everything here reads. Of `openclaw.json` the agent list and workspace paths are kept and nothing else: it holds keys.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from . import reasons
from .services import AGENT_ID, normalise_agent_id

# Secrets, other programs' state, or large and useless: never opened, whoever asks.
NEVER_NAMES = frozenset(
    {"auth-profiles.json", "models.json", "exec-approvals.json", "update-check.json", ".env", "oauth.json"}
)
NEVER_FOLDERS = frozenset(
    {
        "credentials",
        "identity",
        "devices",
        "secrets",
        "cache",
        "media",
        "plugin-skills",
        "browser",
        "canvas",
        "logs",
        "tmp",
        ".git",
        "node_modules",
    }
)
AGENT_DATABASE = "openclaw-agent.sqlite"
STATE_DATABASE = "state/openclaw.sqlite"
MAX_CONFIG_BYTES = 4 * 1024 * 1024
READ_AHEAD = 256 * 1024


class NotReadable(Exception):
    """A path that is not opened: a link, a device, a place of secrets, or gone."""


@dataclass(frozen=True, slots=True)
class HomeAgent:
    """One agent of a home: the name its folder has, and where its files are (None: not there)."""

    home_name: str
    sessions: Path | None
    workspace: Path | None
    folder: Path | None = None
    database: Path | None = None


@dataclass(slots=True)
class Home:
    """What a home holds; `notes` are sentences about what was odd."""

    root: Path
    agents: list[HomeAgent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def open_regular(root: Path, path: Path) -> BinaryIO:
    """Open a regular file for reading, if it may be read. Raises NotReadable otherwise.

    Agents write their own workspaces, so a link there could lead to a key: no link below the root is followed.
    """
    _refuse_secrets(root, path)
    try:
        if path.parent.resolve(strict=True) != _real(root, path):
            raise NotReadable(_("a folder on the way is a link"))
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise NotReadable(reasons.of_system(exc)) from exc
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotReadable(_("not a regular file"))
    return os.fdopen(handle, "rb", buffering=READ_AHEAD)


def read_home(root: Path) -> Home:
    """The agents of the home at `root`. Raises Refused when there is no OpenClaw home."""
    if not root.is_dir():
        raise Refused(_("There is no folder %(path)s. Name OpenClaw's home with --source.") % {"path": root})
    home = Home(root)
    listed = _configured(home)
    folders = {folder.name: folder for folder in _folders(root / "agents")}
    for name in sorted({*listed, *folders}):
        if not AGENT_ID.fullmatch(normalise_or_empty(name)):
            home.notes.append(
                _("The folder agents/%(name)s is not an agent's name and was left alone.") % {"name": name}
            )
            continue
        found = _agent(name, folders.get(name), _workspace(root, name, listed.get(name)))
        if found.sessions or found.database or found.workspace:
            home.agents.append(found)
    if not home.agents:
        raise Refused(
            _(
                "%(path)s holds no OpenClaw agents (there is no agents/<name>/sessions and no "
                "agents/<name>/agent/openclaw-agent.sqlite in it)."
            )
            % {"path": root}
        )
    return home


def _agent(name, folder, workspace):
    if folder is None:
        return HomeAgent(name, None, workspace)
    sessions, database = folder / "sessions", folder / "agent" / AGENT_DATABASE
    return HomeAgent(
        name,
        sessions if sessions.is_dir() else None,
        workspace,
        folder,
        database if database.is_file() and not database.is_symlink() else None,
    )


def is_text(name: str) -> bool:
    """Whether a file's name is UTF-8; one that is not cannot be stored or shown."""
    return name.isprintable()


def normalise_or_empty(name: str) -> str:
    """An agent id made of `name`, or an empty text when nothing is left of it."""
    try:
        return normalise_agent_id(name)
    except Refused:
        return ""


def _refuse_secrets(root, path):
    inside = path.relative_to(root).parts if path.is_relative_to(root) else path.parts[-2:]
    if path.name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside[:-1]):
        raise NotReadable(_("never read: it may hold secrets"))


def _real(root, path):
    if path.is_relative_to(root):
        return root.resolve(strict=True) / path.parent.relative_to(root)
    return path.parent.resolve(strict=True)


def _configured(home) -> dict[str, str | None]:
    """Agent name -> workspace path as the configuration gives it."""
    config: Any = {}
    try:
        with open_regular(home.root, home.root / "openclaw.json") as file:
            config = orjson.loads(file.read(MAX_CONFIG_BYTES))
    except NotReadable:
        home.notes.append(_("There is no openclaw.json: agents and workspaces were found by their folders."))
    except orjson.JSONDecodeError:
        home.notes.append(_("openclaw.json is not plain JSON: agents and workspaces were found by their folders."))
    section = config.get("agents") if isinstance(config, dict) else None
    section = section if isinstance(section, dict) else {}
    defaults = section.get("defaults")
    found: dict[str, str | None] = {}
    for name, entry in _entries(section):
        workspace = entry.get("workspace")
        found[name] = workspace if isinstance(workspace, str) else None
    if isinstance(defaults, dict) and isinstance(defaults.get("workspace"), str):
        found["main"] = found.get("main") or defaults["workspace"]
    return found


def _entries(section) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = section.get("list")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            yield entry["id"], entry
    named = section.get("entries")
    for name, entry in named.items() if isinstance(named, dict) else []:
        yield name, entry if isinstance(entry, dict) else {}


def _workspace(root, name, configured):
    """The configured folder; in a home that was copied elsewhere, the folder of the same name inside it."""
    usual = root / ("workspace" if name == "main" else f"workspace-{name}")
    candidates = [usual]
    with suppress(RuntimeError):  # "~somebody" of a person who is not here
        candidates = [Path(configured).expanduser(), root / Path(configured).name, usual] if configured else [usual]
    return next(filter(_is_own_folder, candidates), None)


def _is_own_folder(folder):
    try:
        return folder.is_absolute() and folder.is_dir() and not folder.is_symlink()
    except (OSError, ValueError):  # a path that no system can have
        return False


def _folders(parent):
    if not parent.is_dir():
        return []
    return sorted(
        entry for entry in parent.iterdir() if is_text(entry.name) and entry.is_dir() and not entry.is_symlink()
    )
