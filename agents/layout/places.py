"""Where the places that a configuration names are on this machine, and what is odd about them."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.pages.glyphs import escape_name

MOST_PARTS = 40  # of a path that is looked for in a copied home
# Folders of a home that are never a workspace, whatever a path from another machine ends with.
NO_WORKSPACE = frozenset({"agents", "state", "cron", "subagents", "sessions", "agent"})


class FolderState(StrEnum):
    """What is at the path of a folder."""

    FOLDER = "folder"
    ABSENT = "absent"
    LINK = "link"
    UNREADABLE = "unreadable"
    NO_FOLDER = "no_folder"


class OddityReason(StrEnum):
    """What is odd about a place; programs may rely on the words."""

    LINK = "link"
    UNREADABLE = "unreadable"
    NO_FOLDER = "no_folder"
    RELATIVE = "relative"
    NAME = "name"  # of an agent, which is another one's or cannot be an id
    NOT_UTF8 = "not_utf8"
    OWNER = "owner"
    ABSENT = "absent"
    COPIED = "copied"  # the folder of the same name in this home is used
    DIFFERS = "differs"  # from what the newest report of a prompt says


# What keeps nothing from being read, and needs nobody.
HARMLESS = frozenset({OddityReason.OWNER, OddityReason.ABSENT, OddityReason.COPIED})
# What keeps a place from being read: the rest of the home is imported, and an import says that it was not whole.
UNREAD = frozenset(
    {
        OddityReason.LINK,
        OddityReason.UNREADABLE,
        OddityReason.NO_FOLDER,
        OddityReason.RELATIVE,
        OddityReason.NAME,
        OddityReason.NOT_UTF8,
    }
)


@dataclass(frozen=True, slots=True)
class Oddity:
    """A place of a home that is not read, or not as it was written, and a sentence with what to do."""

    why: OddityReason
    path: str
    sentence: str
    agent: str = ""  # its name in the home, when it is one agent's

    @property
    def is_unread(self) -> bool:
        """Whether something is missing from an import because of it."""
        return self.why in UNREAD


def read_folder_state(root: Path, folder: Path) -> FolderState:
    """What is at `folder`. Below `root` no part of the path may be a link, elsewhere the folder itself may not."""
    try:
        for part in _parts(root, folder):
            if stat.S_ISLNK(part.lstat().st_mode):
                return FolderState.LINK
        about = folder.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return FolderState.ABSENT
    except OSError:
        return FolderState.UNREADABLE
    if not stat.S_ISDIR(about.st_mode):
        return FolderState.NO_FOLDER
    return FolderState.FOLDER if os.access(folder, os.R_OK | os.X_OK, effective_ids=True) else FolderState.UNREADABLE


def is_link(path: Path) -> bool:
    """Whether a link is at `path`, as far as anybody may know."""
    with suppress(OSError, ValueError):
        return stat.S_ISLNK(path.lstat().st_mode)
    return False


def _parts(root, folder) -> Iterator[Path]:
    """Every folder on the way from the root to `folder`, which is the last."""
    if folder != root and folder.is_relative_to(root):
        yield from (parent for parent in reversed(folder.parents) if parent != root and parent.is_relative_to(root))
    if folder != root:
        yield folder


def build_oddity(state: FolderState, folder: Path, agent: str = "") -> Oddity | None:
    """What to say about a folder in this state that should be read; None for a folder, and where there is none."""
    sentences = {
        FolderState.LINK: _(
            "%(path)s was not read: it is a link, or a link leads to it. Write the real path into openclaw.json, or "
            "put a folder in its place."
        ),
        FolderState.UNREADABLE: _(
            "%(path)s was not read: permission to list it is missing. Give the user of OpenClaw Web read access."
        ),
        FolderState.NO_FOLDER: _("%(path)s was not read: it is not a folder. Put a folder in its place."),
    }
    if state not in sentences:
        return None
    return Oddity(OddityReason(state.value), str(folder), sentences[state] % {"path": escape_name(str(folder))}, agent)


def check_owner(root: Path, folder: Path, agent: str = "") -> Oddity | None:
    """What to say about a folder that belongs to another user than the home itself."""
    with suppress(OSError):
        owner, usual = folder.lstat().st_uid, root.stat().st_uid
        if owner != usual:
            words = {"path": escape_name(str(folder)), "owner": owner, "usual": usual}
            sentence = _("%(path)s belongs to user %(owner)s, the OpenClaw folder to user %(usual)s.")
            return Oddity(OddityReason.OWNER, str(folder), sentence % words, agent)
    return None


def expand_path(written: str, agent_id: str) -> Path | None:
    """A path as OpenClaw understands it: `~` and `{agentId}` replaced; None for one that is not absolute."""
    path = Path(written.replace("{agentId}", agent_id))
    with suppress(RuntimeError):  # "~somebody" of a person who is not here
        path = path.expanduser()
    return Path(os.path.normpath(path)) if path.is_absolute() else None


def copied(root: Path, folder: Path, *, is_workspace: bool = False) -> Path | None:
    """The folder of a copied home that stands for one of its old root: the longest end of the path that is there."""
    parts = folder.parts[1:][-MOST_PARTS:]
    for start in range(len(parts)):
        end = parts[start:]
        if is_workspace and end[0] in NO_WORKSPACE:
            continue
        if read_folder_state(root, root.joinpath(*end)) == FolderState.FOLDER:
            return root.joinpath(*end)
    return None


def respelled(root: Path, path: Path) -> Path:
    """A path in the home as it is spelled from `root` on: it may have been written by way of a link to the home."""
    with suppress(OSError, ValueError):
        for parent in () if path.is_relative_to(root) else path.parents:
            if parent.name and parent.exists() and parent.samefile(root):
                return root / path.relative_to(parent)
    return path


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that was looked for: where it is, if it can be read, and what is odd about that."""

    folder: Path | None
    oddities: tuple[Oddity, ...] = ()


def find_folder(root: Path, wanted: Path, agent: str, *, is_workspace: bool = False) -> Place:
    """The folder `wanted`; where there is none, the one of a copied home, which is said."""
    wanted = respelled(root, wanted)
    state = read_folder_state(root, wanted)
    if state == FolderState.FOLDER:
        return Place(wanted)
    if problem := build_oddity(state, wanted, agent):
        return Place(None, (problem,))
    if wanted.is_relative_to(root):
        return Place(None)
    words = {"path": escape_name(str(wanted))}
    if inside := copied(root, wanted, is_workspace=is_workspace):
        words["used"] = escape_name(str(inside.relative_to(root)))
        sentence = _("%(path)s does not exist here; the folder %(used)s of this OpenClaw folder was used instead.")
        return Place(inside, (Oddity(OddityReason.COPIED, str(wanted), sentence % words, agent),))
    sentence = _("%(path)s does not exist here, and no folder of the same name is in this OpenClaw folder.")
    return Place(None, (Oddity(OddityReason.ABSENT, str(wanted), sentence % words, agent),))


def find_first_folder(root: Path, candidates: list[Path], agent: str, *, is_workspace: bool = False) -> Place:
    """The first of several places where something is; what is odd about it is said, and no other takes its place."""
    places = [find_folder(root, candidate, agent, is_workspace=is_workspace) for candidate in dict.fromkeys(candidates)]
    said = (place for place in places if place.folder or any(one.is_unread for one in place.oddities))
    return next(chain(said, places), Place(None))
