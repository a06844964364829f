"""An OpenClaw home on disk: which agents it has, where their files are, and the only way a file of it is opened.

Everything here reads. Of `openclaw.json` the agent list and workspace paths are kept and nothing else: it holds keys.
"""

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.errors import Refused

from . import home_configuration
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
READ_AHEAD = 256 * 1024
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # a folder that may only be passed through will do
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotReadable(Exception):
    """A path that is not opened: a link, a device, a place of secrets, or gone."""


class NoHome(Refused):
    """There is no home of OpenClaw, or no agent in it has spoken yet."""


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
    """What a home holds; `notes` are sentences about what was odd, `problems` those about a broken configuration."""

    root: Path
    agents: list[HomeAgent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def open_regular(root: Path, path: Path, *, may_be_linked: bool = False) -> BinaryIO:
    """Open a regular file for reading, if it may be read. Raises NotReadable otherwise.

    Agents write their own workspaces, so a link there could lead to a key: no link below the root is followed, and
    without `may_be_linked` no file is read that has a second name, which may be that of a secret.
    """
    _refuse_secrets(root, path)
    try:
        handle = _opened(root, path)
    except (OSError, RuntimeError) as exc:  # RuntimeError: links in a circle
        raise NotReadable(reasons.of_system(exc) if isinstance(exc, OSError) else type(exc).__name__) from exc
    found = os.fstat(handle)  # of what was opened: its name may lead elsewhere by now
    if problem := _why_not(found, may_be_linked):
        os.close(handle)
        raise NotReadable(problem)
    return os.fdopen(handle, "rb", buffering=READ_AHEAD)


def look(path: Path) -> os.stat_result | None:
    """The regular file at `path` as it is now; None for anything else, and when it was renamed or removed."""
    with suppress(OSError):
        found = path.lstat()
        return found if stat.S_ISREG(found.st_mode) else None
    return None


def names_in(folder: Path | None, notes: list[str]) -> list[str]:
    """The names in a folder that can be stored and shown, in order; none of a link or where there is no folder.

    A folder that cannot be listed, or is gone in this moment, is a sentence in `notes`.
    """
    try:
        if folder is None or not folder.is_dir() or folder.is_symlink():
            return []
        return sorted(entry.name for entry in folder.iterdir() if is_text(entry.name))
    except OSError as exc:
        notes.append(_("%(file)s was not read: %(reason)s.") % {"file": folder, "reason": exc.strerror})
        return []


def gone(name: str) -> str:
    """The sentence about a file that was listed and is not there when it is to be read."""
    return _("%(file)s was not read: the file was renamed or removed in the meantime.") % {"file": name}


def read_home(root: Path) -> Home:
    """The agents of the home at `root`. Raises NoHome when there are none."""
    if not root.is_dir():
        raise NoHome(_("There is no OpenClaw folder at %(path)s. Choose another location.") % {"path": root})
    home = Home(root)
    listed = _configured(home)
    folders = {folder.name: folder for folder in _folders(root / "agents", home.notes)}
    for name in sorted({*listed, *folders}):
        if not AGENT_ID.fullmatch(normalise_or_empty(name)):
            home.notes.append(
                _("The folder agents/%(name)s was skipped: its name is not a valid agent name.") % {"name": name}
            )
            continue
        found = _agent(name, folders.get(name), _workspace(root, name, listed.get(name)))
        if found.sessions or found.database or found.workspace:
            home.agents.append(found)
    if not home.agents:
        raise NoHome(
            _(
                "There are no OpenClaw agents in %(path)s (no agents/<name>/sessions and no "
                "agents/<name>/agent/openclaw-agent.sqlite)."
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


def _why_not(found, may_be_linked):
    if not stat.S_ISREG(found.st_mode):
        return _("the path is not a regular file")
    if found.st_nlink > 1 and not may_be_linked:
        return _("the file is a hard link and may be a secret under another name; replace it with a copy")
    return ""


def _refuse_secrets(root, path):
    inside = path.relative_to(root).parts if path.is_relative_to(root) else path.parts[-2:]
    if path.name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside[:-1]):
        raise NotReadable(_("such files may contain secrets and are never read"))


def _opened(root, path):
    """The file, opened from the root on, one name after the other: whoever exchanges a folder for a link is too late.

    `path` is what an audit of opened files is told: the system gets its last name alone.
    """
    is_below = path.is_relative_to(root)
    parts = path.parent.relative_to(root).parts if is_below else ()
    if ".." in parts:
        raise NotReadable(_("a folder in the path is a link"))
    folder = os.open((root if is_below else path.parent).resolve(strict=True), FOLDER)
    try:
        for part in parts:
            folder = _step_into(folder, part)
        sys.audit("open", str(path), None, FILE)
        return os.open(path.name, FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _step_into(folder, part):
    """A folder within an opened one, which is closed once this one is open."""
    try:
        inner = os.open(part, FOLDER, dir_fd=folder)
    except NotADirectoryError as exc:
        raise NotReadable(_("a folder in the path is a link")) from exc
    os.close(folder)
    return inner


def _configured(home) -> dict[str, str | None]:
    """Agent name -> workspace path as the configuration gives it."""
    if not os.path.lexists(home.root / home_configuration.NAME):
        home.notes.append(_("There is no openclaw.json: agents and workspaces were found by their folders."))
        return {}

    def open_bytes(path, most):
        try:
            with open_regular(home.root, path) as file:
                return file.read(most)
        except NotReadable as exc:
            raise home_configuration.NotUsable(str(exc)) from None

    found = home_configuration.read(home.root, open_bytes)
    home.problems += found.problems
    home.notes += found.problems
    return found.workspaces


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


def _folders(parent, notes):
    paths = (parent / name for name in names_in(parent, notes))
    return [path for path in paths if path.is_dir() and not path.is_symlink()]
