"""An OpenClaw home on disk: what is known of it and of its agents, and the only way a file of it is opened.

Everything here reads. Of `openclaw.json` the agents and the places they are given are kept and nothing else: it holds
keys.
"""

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.pages.glyphs import escape_name

from .layout.places import Oddity, OddityReason
from .services import normalise_agent_id

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
INDEX = "sessions.json"
MOST_NAMED = 5  # names that a sentence lists
READ_AHEAD = 256 * 1024
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # a folder that may only be passed through will do
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotReadable(Exception):
    """A path that is not opened: a link, a device, a place of secrets, or gone."""


class NoHome(Refused):
    """There is no home of OpenClaw, or no agent in it has spoken yet."""


@dataclass(frozen=True, slots=True)
class HomeAgent:
    """One agent of a home: the name its folder has, and where its files are (None: not there).

    `more_sessions` and `more_databases` are read as well: what it wrote before the configuration named another place.
    """

    home_name: str
    sessions: Path | None  # where it writes its transcripts now
    workspace: Path | None  # that of the newest report of a prompt, else the configured one
    folder: Path | None = None
    database: Path | None = None
    index: Path | None = None  # its session index, whether or not there is one
    agent_dir: Path | None = None  # where the configuration puts its database, when that is elsewhere
    more_sessions: tuple[Path, ...] = ()
    more_databases: tuple[Path, ...] = ()
    configured: Path | None = None  # the workspace that the configuration leads to
    written: str = ""  # and that as the configuration writes it, `~` and `{agentId}` replaced
    reported: str = ""  # the workspace that the newest report of a prompt names, as it is written there
    is_reported: bool = False  # whether that is the workspace that is read
    is_default: bool = False  # in the configuration

    @property
    def session_folders(self) -> tuple[Path, ...]:
        """Every folder with transcripts of it, the one in use last."""
        return (*self.more_sessions, *([self.sessions] if self.sessions else []))

    @property
    def databases(self) -> tuple[Path, ...]:
        """Every database of it, the one in use last."""
        return (*self.more_databases, *([self.database] if self.database else []))

    @property
    def parts(self) -> tuple["HomeAgent", ...]:
        """The agent once for each older folder of transcripts and each other database, and as it is now at last."""
        bare = HomeAgent(self.home_name, None, None)
        folders = [replace(bare, sessions=folder, index=folder / INDEX) for folder in self.more_sessions]
        return (*folders, *(replace(bare, database=path) for path in self.more_databases), self)


@dataclass(slots=True)
class Home:
    """What a home holds; `notes` are sentences about what was odd, `problems` those about a broken configuration.

    `version` is that of the OpenClaw that last wrote the configuration, as written there.
    """

    root: Path
    version: str = ""
    agents: list[HomeAgent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    oddities: list[Oddity] = field(default_factory=list)

    def add_oddities(self, *oddities: Oddity | None) -> None:
        """Note what is odd about a place, once."""
        for oddity in oddities:
            if oddity is not None and oddity not in self.oddities:
                self.oddities.append(oddity)
                self.notes.append(oddity.sentence)

    def forget_oddities(self, agent: str, *whys: OddityReason) -> None:
        """Take back what was said of the places of an agent for these reasons: it is said anew."""
        for oddity in [one for one in self.oddities if one.agent == agent and one.why in whys]:
            self.oddities.remove(oddity)
            self.notes.remove(oddity.sentence)


def open_regular(root: Path, path: Path, *, may_be_linked: bool = False) -> BinaryIO:
    """Open a regular file for reading, if it may be read. Raises NotReadable otherwise.

    Agents write their own workspaces, so a link there could lead to a key: no link below the root is followed, and
    without `may_be_linked` no file is read that has a second name, which may be that of a secret.
    """
    _refuse_secrets(root, path)
    try:
        handle = _opened(root, path)
    except (OSError, RuntimeError) as exc:  # RuntimeError: links in a circle
        raise NotReadable(reasons.describe_os_error(exc) if isinstance(exc, OSError) else type(exc).__name__) from exc
    found = os.fstat(handle)  # of what was opened: its name may lead elsewhere by now
    if problem := _why_not(found, may_be_linked):
        os.close(handle)
        raise NotReadable(problem)
    return os.fdopen(handle, "rb", buffering=READ_AHEAD)


def find_refusal_reason(root: Path, path: Path, found: os.stat_result) -> str:
    """Why `open_regular` would not open a file that was looked at, without trying; empty when nothing shows it."""
    try:
        _refuse_secrets(root, path)
    except NotReadable as exc:
        return str(exc)
    if problem := _why_not(found, False):
        return problem
    is_there = os.path.lexists(path)
    return "" if not is_there or os.access(path, os.R_OK) else _("permission to open or write is missing")


def stat_regular(path: Path) -> os.stat_result | None:
    """The regular file at `path` as it is now; None for anything else, and when it was renamed or removed."""
    with suppress(OSError):
        found = path.lstat()
        return found if stat.S_ISREG(found.st_mode) else None
    return None


def is_folder(path: Path, notes: list[str] | None = None) -> bool:
    """Whether a folder is there that may be looked into; one behind a link is a sentence in `notes` instead."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) and notes is not None and path.is_dir():
            notes.append(_("%(file)s was not read: %(reason)s.") % {"file": path, "reason": _("the path is a link")})
        return stat.S_ISDIR(mode)
    return False


def list_names(folder: Path | None, notes: list[str]) -> list[str]:
    """The names in a folder that can be stored, in order; none of a link or where there is no folder.

    A folder that cannot be listed, or is gone in this moment, is a sentence in `notes`, and so are names that are not
    UTF-8.
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
    """The sentence about files and folders whose names no page and no table can hold."""
    named = listed([*map(escape_name, names[:MOST_NAMED]), *(["…"] if len(names) > MOST_NAMED else [])])
    words = {"folder": escape_name(str(folder)), "names": named}
    return _("In %(folder)s these names are not UTF-8 and were not read; rename them: %(names)s.") % words


def describe_note_limits(folder: Path, folders: int, notes: int, levels: int) -> str:
    """The sentence about a folder of notes that is larger than what is read of one."""
    words = {"path": escape_name(str(folder)), "folders": f"{folders:,}", "notes": f"{notes:,}", "deep": levels}
    sentence = _(
        "Below %(path)s, not all notes were read. Limits: folders %(folders)s, notes %(notes)s, levels %(deep)s."
    )
    return sentence % words


def describe_gone(name: str) -> str:
    """The sentence about a file that was listed and is not there when it is to be read."""
    return _("%(file)s was not read: the file was renamed or removed in the meantime.") % {"file": name}


def is_utf8_name(name: str) -> bool:
    """Whether a file's name is UTF-8; one that is not cannot be stored or shown."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
