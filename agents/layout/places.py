"""Finds the folders that a configuration names on this machine, and their oddities."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.pages.glyphs import escape_name

MOST_PARTS = 40  # last parts of a path that are searched in a copied home
# A home that another machine staged: its manifest, the first bytes of that, and its folder of what lay elsewhere.
MANIFEST, STAGED, ELSEWHERE = "manifest.json", b'{"format":1,"openclaw_web":', "elsewhere"
# Folders of a home that are never a workspace, even if a path from another machine ends with them.
NO_WORKSPACE = frozenset({"agents", "state", "cron", "subagents", "sessions", "agent"})


class FolderState(StrEnum):
    """The state of a folder's path."""

    FOLDER = "folder"
    ABSENT = "absent"
    LINK = "link"
    UNREADABLE = "unreadable"
    NO_FOLDER = "no_folder"


class OddityReason(StrEnum):
    """The reason of an oddity; programs may rely on the words."""

    LINK = "link"
    UNREADABLE = "unreadable"
    NO_FOLDER = "no_folder"
    RELATIVE = "relative"
    NAME = "name"  # an agent's name that another agent has, or that cannot be an id
    NOT_UTF8 = "not_utf8"
    OWNER = "owner"
    ABSENT = "absent"
    COPIED = "copied"  # the folder of the same name in this home is used
    DIFFERS = "differs"  # the newest report of a prompt names another place


# Oddities that need no action: everything is read.
HARMLESS = frozenset({OddityReason.OWNER, OddityReason.ABSENT, OddityReason.COPIED})
# Oddities because of which a place is not read: the import of the rest is reported as incomplete.
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
    """A place of a home that is not read as it was written.

    `sentence` says what to do.
    """

    why: OddityReason
    path: str
    sentence: str
    agent: str = ""  # the agent's name in the home; empty: not of one agent

    @property
    def is_unread(self) -> bool:
        """Return whether an import is incomplete because of it."""
        return self.why in UNREAD


def read_folder_state(root: Path, folder: Path) -> FolderState:
    """Return the state of `folder`.

    Below `root` no part of the path may be a link; elsewhere the folder itself may not be one.
    """
    try:
        for part in _iterate_parts(root, folder):
            if stat.S_ISLNK(part.lstat().st_mode):
                return FolderState.LINK
        stat_result = folder.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return FolderState.ABSENT
    except OSError:
        return FolderState.UNREADABLE
    if not stat.S_ISDIR(stat_result.st_mode):
        return FolderState.NO_FOLDER
    return FolderState.FOLDER if os.access(folder, os.R_OK | os.X_OK, effective_ids=True) else FolderState.UNREADABLE


def find_access_problem(root: Path) -> str:
    """Say why this process may not read the home at `root`; empty without a reason."""
    for folder in (root, root / "agents"):
        words = {"path": escape_name(str(folder)), "user": os.geteuid()}
        try:
            words["owner"] = folder.stat().st_uid
        except PermissionError:
            return _("User %(user)s, who runs OpenClaw Web, may not open a folder above %(path)s.") % words
        except (OSError, ValueError):
            return ""
        if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
            return _describe_missing_access(words) % words
    return ""


def _describe_missing_access(words):
    if words["owner"] == words["user"]:
        return _(
            "OpenClaw Web may not read %(path)s, although the folder belongs to its user %(user)s. Check the mode of "
            "the folder, and the rules of SELinux if the system uses it."
        )
    return _(
        "OpenClaw Web runs as user %(user)s and may not read %(path)s, which belongs to user %(owner)s. Run it as user "
        "%(owner)s, or give user %(user)s read access."
    )


def is_link(path: Path) -> bool:
    """Return whether a link is at `path`, as far as that can be seen."""
    with suppress(OSError, ValueError):
        return stat.S_ISLNK(path.lstat().st_mode)
    return False


def _iterate_parts(root, folder) -> Iterator[Path]:
    """Yield every folder from the root to `folder`, which is the last."""
    if folder != root and folder.is_relative_to(root):
        yield from (parent for parent in reversed(folder.parents) if parent != root and parent.is_relative_to(root))
    if folder != root:
        yield folder


def build_oddity(state: FolderState, folder: Path, agent: str = "") -> Oddity | None:
    """Build the oddity of a folder that should be read; None when it has none.

    A folder that is absent has none either.
    """
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
    """Build the oddity of a folder whose owner is another user than the home's."""
    with suppress(OSError):
        owner, home_owner = folder.lstat().st_uid, root.stat().st_uid
        if owner != home_owner:
            words = {"path": escape_name(str(folder)), "owner": owner, "usual": home_owner}
            sentence = _("%(path)s belongs to user %(owner)s, the OpenClaw folder to user %(usual)s.")
            return Oddity(OddityReason.OWNER, str(folder), sentence % words, agent)
    return None


def expand_path(written: str, agent_id: str) -> Path | None:
    """Return a path as OpenClaw reads it: `~` and `{agentId}` replaced.

    None for a path that is not absolute.
    """
    path = Path(written.replace("{agentId}", agent_id))
    with suppress(RuntimeError):  # "~somebody" of an unknown user
        path = path.expanduser()
    return Path(os.path.normpath(path)) if path.is_absolute() else None


def copied(root: Path, folder: Path, *, is_workspace: bool = False) -> Path | None:
    """Return the folder of a copied home that corresponds to one of the original home.

    It is found by the longest end of the path that exists.
    """
    parts = folder.parts[1:][-MOST_PARTS:]
    for start in range(len(parts)):
        end = parts[start:]
        if is_workspace and end[0] in NO_WORKSPACE:
            continue
        if read_folder_state(root, root.joinpath(*end)) == FolderState.FOLDER:
            return root.joinpath(*end)
    return None


def is_staged(root: Path) -> bool:
    """Return whether a home is a copy that another machine staged: its paths are those of that machine."""
    with suppress(OSError), (root / MANIFEST).open("rb") as file:
        return file.read(len(STAGED)) == STAGED
    return False


def respelled(root: Path, path: Path) -> Path:
    """Return a path in the home with the spelling of `root`.

    It may have been written with a link to the home.
    """
    with suppress(OSError, ValueError):
        for parent in () if path.is_relative_to(root) else path.parents:
            if parent.name and parent.exists() and parent.samefile(root):
                return root / path.relative_to(parent)
    return path


@dataclass(frozen=True, slots=True)
class Place:
    """The result of a search for a folder: the folder, if readable, and oddities."""

    folder: Path | None
    oddities: tuple[Oddity, ...] = ()


def find_folder(root: Path, path: Path, agent: str, *, is_workspace: bool = False) -> Place:
    """Return the folder at `path`, or else the one of a copied home, with an oddity.

    A staged home names folders of another machine: those of the same name on this one are not its own, and not read.
    """
    if not path.is_relative_to(root) and is_staged(root):
        inside = root.joinpath(ELSEWHERE, *path.parts[1:])
        is_there = read_folder_state(root, inside) == FolderState.FOLDER
        return Place(inside if is_there else copied(root, path, is_workspace=is_workspace))
    path = respelled(root, path)
    state = read_folder_state(root, path)
    if state == FolderState.FOLDER:
        return Place(path)
    if problem := build_oddity(state, path, agent):
        return Place(None, (_add_advice_after_move(problem, root, path, is_workspace),))
    if path.is_relative_to(root):
        return Place(None)
    words = {"path": escape_name(str(path))}
    if inside := copied(root, path, is_workspace=is_workspace):
        words["used"] = escape_name(str(inside.relative_to(root)))
        sentence = _("%(path)s does not exist here; the folder %(used)s of this OpenClaw folder was used instead.")
        return Place(inside, (Oddity(OddityReason.COPIED, str(path), sentence % words, agent),))
    sentence = _("%(path)s does not exist here, and no folder of the same name is in this OpenClaw folder.")
    return Place(None, (Oddity(OddityReason.ABSENT, str(path), sentence % words, agent),))


def _add_advice_after_move(problem, root, path, is_workspace):
    """Say that a path below a closed folder may be one of another machine."""
    if problem.why != OddityReason.UNREADABLE or os.path.lexists(path):
        return problem
    inside = copied(root, path, is_workspace=is_workspace)
    if inside is None:
        return problem
    sentence = _(
        "If this OpenClaw folder was moved, its folder %(used)s may be the same: write the new path into openclaw.json."
    )
    words = {"used": escape_name(str(inside.relative_to(root)))}
    return replace(problem, sentence=f"{problem.sentence} {sentence % words}")


def find_first_folder(root: Path, candidates: list[Path], agent: str, *, is_workspace: bool = False) -> Place:
    """Return the first place that exists.

    A place that exists and is not read is returned with its oddities, not replaced by another.
    """
    places = [find_folder(root, candidate, agent, is_workspace=is_workspace) for candidate in dict.fromkeys(candidates)]
    existing = (place for place in places if place.folder or any(oddity.is_unread for oddity in place.oddities))
    return next(chain(existing, places), Place(None))
