"""An OpenClaw home on disk, its agents, and the safe opening of its files.

Everything here only reads. Of `openclaw.json` only the agents and their places are kept, as the file holds keys.
"""

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.pages.glyphs import escape_name

from .layout.home_configuration import HomeConfiguration
from .layout.places import Oddity, OddityReason
from .services import normalise_agent_id

# Secrets, other programs' state, or large and useless files: never opened.
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
INDEX = "sessions.json"
MOST_NAMED = 5  # names that a sentence lists
READ_AHEAD = 256 * 1024
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # search permission on the folder is enough
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotReadable(Exception):
    """A path that is not opened: a link, a device, a place of secrets, or missing."""


class NoHome(Refused):
    """There is no home of OpenClaw, or no agent in it has written anything yet."""


class UnreadableHome(NoHome):
    """This process may not read a home of OpenClaw."""


@dataclass(frozen=True, slots=True)
class HomeAgent:
    """One agent of a home: its folder's name, and the places of its files (None: missing).

    `more_sessions` and `more_databases` are read as well: the agent wrote them before the configuration named another
    place.
    """

    home_name: str
    sessions: Path | None  # the folder of its current transcripts
    workspace: Path | None  # the workspace of the newest report of a prompt, else the configured one
    folder: Path | None = None
    database: Path | None = None
    index: Path | None = None  # its session index, which may be missing
    agent_dir: Path | None = None  # the configured folder of its database, when that is another one
    more_sessions: tuple[Path, ...] = ()
    more_databases: tuple[Path, ...] = ()
    configured: Path | None = None  # the workspace of the configuration
    written: str = ""  # the same as written there, `~` and `{agentId}` replaced
    reported: str = ""  # the workspace of the newest report of a prompt, as written there
    is_reported: bool = False  # whether the reported workspace is the first to be read
    more_workspaces: tuple[Path, ...] = ()  # read as well, for files that the first one has not
    is_default: bool = False  # in the configuration

    @property
    def session_folders(self) -> tuple[Path, ...]:
        """Return every folder with its transcripts, the current one last."""
        return (*self.more_sessions, *([self.sessions] if self.sessions else []))

    @property
    def workspaces(self) -> tuple[Path, ...]:
        """Return every workspace that is read, the one of its prompts first."""
        return (*([self.workspace] if self.workspace else []), *self.more_workspaces)

    @property
    def databases(self) -> tuple[Path, ...]:
        """Return every database of it, the current one last."""
        return (*self.more_databases, *([self.database] if self.database else []))

    @property
    def parts(self) -> tuple["HomeAgent", ...]:
        """Return the agent once for each older folder and database, and as it is now last."""
        bare = HomeAgent(self.home_name, None, None)
        folders = [replace(bare, sessions=folder, index=folder / INDEX) for folder in self.more_sessions]
        return (*folders, *(replace(bare, database=path) for path in self.more_databases), self)


@dataclass(slots=True)
class Home:
    """The content of a home.

    `notes` are sentences about oddities, `problems` those about a broken configuration. `version` is that of the
    OpenClaw that last wrote the configuration, as written there. `configuration` is None where the home has none.
    """

    root: Path
    version: str = ""
    configuration: HomeConfiguration | None = None
    agents: list[HomeAgent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    oddities: list[Oddity] = field(default_factory=list)

    def add_oddities(self, *oddities: Oddity | None) -> None:
        """Note oddities of places, each once."""
        for oddity in oddities:
            if oddity is not None and oddity not in self.oddities:
                self.oddities.append(oddity)
                self.notes.append(oddity.sentence)

    def forget_oddities(self, agent: str, *whys: OddityReason) -> None:
        """Remove the oddities of an agent with these reasons, as they are noted again."""
        for oddity in [candidate for candidate in self.oddities if candidate.agent == agent and candidate.why in whys]:
            self.oddities.remove(oddity)
            self.notes.remove(oddity.sentence)


def open_regular(root: Path, path: Path, *, may_be_linked: bool = False) -> BinaryIO:
    """Open a regular file for reading. Raises NotReadable when it may not be read.

    Agents write their own workspaces, so a link there could lead to a key: no link below the root is followed, and
    without `may_be_linked` no file with a second name is read, which may be that of a secret.
    """
    _refuse_secrets(root, path)
    try:
        handle = _open_below(root, path)
    except (OSError, RuntimeError) as exc:  # RuntimeError: links in a circle
        raise NotReadable(reasons.describe_os_error(exc) if isinstance(exc, OSError) else type(exc).__name__) from exc
    stat_result = os.fstat(handle)  # stat of the opened file: its name may belong to another file by now
    if problem := _find_reason(stat_result, may_be_linked):
        os.close(handle)
        raise NotReadable(problem)
    return os.fdopen(handle, "rb", buffering=READ_AHEAD)


def find_refusal_reason(root: Path, path: Path, stat_result: os.stat_result) -> str:
    """Say why `open_regular` would refuse a file, without opening it.

    `stat_result` is its stat. Empty when no reason is visible from outside.
    """
    try:
        _refuse_secrets(root, path)
    except NotReadable as exc:
        return str(exc)
    if problem := _find_reason(stat_result, False):
        return problem
    is_there = os.path.lexists(path)
    return "" if not is_there or os.access(path, os.R_OK) else _("permission to open or write is missing")


def stat_regular(path: Path) -> os.stat_result | None:
    """Return the stat of the regular file at `path`.

    None for anything else, and when it was renamed or removed.
    """
    with suppress(OSError):
        stat_result = path.lstat()
        return stat_result if stat.S_ISREG(stat_result.st_mode) else None
    return None


def describe_irregular(path: Path) -> str:
    """Say why a path is no regular file; empty for a file, and where nothing is."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return _("the path is a link")
        if stat.S_ISDIR(mode):
            return _("the path is a folder")
        return "" if stat.S_ISREG(mode) else _("the path is not a regular file")
    return ""


def is_folder(path: Path, notes: list[str] | None = None) -> bool:
    """Return whether there is a folder that may be read.

    A folder behind a link is not one, and adds a sentence to `notes`.
    """
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) and notes is not None and path.is_dir():
            notes.append(_("%(file)s was not read: %(reason)s.") % {"file": path, "reason": _("the path is a link")})
        return stat.S_ISDIR(mode)
    return False


def list_names(folder: Path | None, notes: list[str]) -> list[str]:
    """Return the names in a folder, in order; empty for a link or a missing folder.

    Names that are not UTF-8 are left out, with a sentence in `notes`, and so is a folder that cannot be listed or is
    removed in this moment.
    """
    try:
        if folder is None or not folder.is_dir() or folder.is_symlink():
            return []
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as exc:
        notes.append(_("%(file)s was not read: %(reason)s.") % {"file": folder, "reason": exc.strerror})
        return []
    if odd := [name for name in names if not is_utf8_name(name)]:
        note = describe_undecodable(folder, odd)
        notes += [] if note in notes else [note]
    return [name for name in names if is_utf8_name(name)]


def describe_undecodable(folder: Path, names: list[str]) -> str:
    """Return the sentence about files and folders whose names are not UTF-8."""
    named = listed([*map(escape_name, names[:MOST_NAMED]), *(["…"] if len(names) > MOST_NAMED else [])])
    words = {"folder": escape_name(str(folder)), "names": named}
    return _("In %(folder)s these names are not UTF-8 and were not read; rename them: %(names)s.") % words


def describe_note_limits(folder: Path, folders: int, notes: int, levels: int) -> str:
    """Return the sentence about a folder of notes that is larger than the limits."""
    words = {"path": escape_name(str(folder)), "folders": f"{folders:,}", "notes": f"{notes:,}", "deep": levels}
    sentence = _(
        "Below %(path)s, not all notes were read. Limits: folders %(folders)s, notes %(notes)s, levels %(deep)s."
    )
    return sentence % words


def describe_gone(name: str) -> str:
    """Return the sentence about a file that was listed, and was missing when it was read."""
    return _("%(file)s was not read: the file was renamed or removed in the meantime.") % {"file": name}


def is_utf8_name(name: str) -> bool:
    """Return whether a file's name is UTF-8; others cannot be stored or displayed."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=4096)
def normalise_or_empty(name: str) -> str:
    """Return the agent id of a name; empty when the name has no valid characters."""
    try:
        return normalise_agent_id(name)
    except Refused:
        return ""


def _find_reason(stat_result, may_be_linked):
    if not stat.S_ISREG(stat_result.st_mode):
        return _("the path is not a regular file")
    if stat_result.st_nlink > 1 and not may_be_linked:
        return _("the file is a hard link and may be a secret under another name; replace it with a copy")
    return ""


def _refuse_secrets(root, path):
    inside = path.relative_to(root).parts if path.is_relative_to(root) else path.parts[-2:]
    if path.name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside[:-1]):
        raise NotReadable(_("such files may contain secrets and are never read"))


def _open_below(root, path):
    """Open a file from the root on, one folder after the other.

    So a folder that is exchanged for a link meanwhile is not followed.

    `path` is given to audits of opened files: the system call gets the last name alone.
    """
    is_below = path.is_relative_to(root)
    parts = path.parent.relative_to(root).parts if is_below else ()
    if ".." in parts:
        raise NotReadable(_("a folder in the path is a link"))
    folder = os.open((root if is_below else path.parent).resolve(strict=True), FOLDER)
    try:
        for part in parts:
            # Open a folder within an opened one, and close the outer one.
            try:
                inner = os.open(part, FOLDER, dir_fd=folder)
            except NotADirectoryError as exc:
                raise NotReadable(_("a folder in the path is a link")) from exc
            os.close(folder)
            folder = inner
        sys.audit("open", str(path), None, FILE)
        return os.open(path.name, FILE, dir_fd=folder)
    finally:
        os.close(folder)
