"""Places of the store's files, which are opened without following any link.

<root>/blobs/sha256/ab/cd/<hex>.txt[.gz]   <root>/meta/sha256/ab/cd/<hex>.json   <root>/tmp/<draft>

Folders are 0700 and files 0600 whatever the umask. Every step down goes through the folder before it, opened, so a
folder that is swapped for a link under our hands is refused as well.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.disk import publication

from ..errors import DamagedArtifact

BLOBS, META, DRAFTS = "blobs", "meta", "tmp"
PLAIN, GZIPPED = ".txt", ".txt.gz"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def get_root(folder: Path | None = None) -> Path:
    """The store of this home, or in `folder`; the folder is created on first use."""
    folder = folder or settings.HOME_DIR / "artifacts"
    if (folder / DRAFTS).is_dir():  # nearly always: an export asks for every output
        return folder
    for path in (folder, folder / DRAFTS):
        if not path.is_dir():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            publication.restrict(path, 0o700)
    return folder


def split_hash(sha256: str) -> tuple[str, str, str]:
    """The folders of a hash below `blobs` and `meta`."""
    return ("sha256", sha256[:2], sha256[2:4])


def blob_name(sha256: str, *, is_compressed: bool) -> str:
    """The blob's place relative to the root, as the metadata spells it."""
    return "/".join((BLOBS, *split_hash(sha256), sha256 + (GZIPPED if is_compressed else PLAIN)))


@contextmanager
def open_folder(root: Path, *names: str) -> Iterator[int]:
    """An existing folder of the store, opened.

    Raises FileNotFoundError, or DamagedArtifact when a link is on the way.
    """
    opened_handles = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for name in names:
            opened_handles.append(_open_folder(opened_handles[-1], name))
        yield opened_handles[-1]
    finally:
        for handle in opened_handles:
            os.close(handle)


@contextmanager
def made_folder(root: Path, *names: str) -> Iterator[tuple[int, list[Path]]]:
    """Like `open_folder`, but a missing folder is created.

    Also gives the paths of those of its parents that got a new entry.
    """
    opened_handles = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    changed = []
    try:
        for depth, name in enumerate(names):
            if _make_folder(opened_handles[-1], name):
                changed.append(root.joinpath(*names[:depth]))
            opened_handles.append(_open_folder(opened_handles[-1], name))
        yield opened_handles[-1], changed
    finally:
        for handle in opened_handles:
            os.close(handle)


def meta_name(sha256: str) -> str:
    """The metadata's place relative to the root."""
    return "/".join((META, *split_hash(sha256), f"{sha256}.json"))


def name_draft(root: Path, draft: Path, name: str) -> list[Path]:
    """Give a draft its name, a path relative to the root.

    Returns the folders that got a new entry.
    """
    *folders, file = name.split("/")
    with made_folder(root, *folders) as (target, grown):
        os.rename(draft, file, dst_dir_fd=target)
    return [*grown, root.joinpath(*folders)]


def touch(root: Path, name: str) -> None:
    """Make a file as young as one that was stashed now."""
    *folders, file = name.split("/")
    with open_folder(root, *folders) as inside, suppress(FileNotFoundError):
        os.utime(file, dir_fd=inside, follow_symlinks=False)


def remove(root: Path, folders: tuple[str, ...], *names: str) -> None:
    """Remove those of the files that exist, and then their folder, if it is empty."""
    with suppress(FileNotFoundError), open_folder(root, *folders[:-1]) as above:
        with _open_child(above, folders[-1]) as inside:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=inside)
        with suppress(OSError):  # not empty
            os.rmdir(folders[-1], dir_fd=above)


def remove_many(root: Path, above: tuple[str, ...], leaves: dict[str, list[str]]) -> list[str]:
    """Remove files of folders below `above`, and then those folders, if they are empty.

    `leaves` has the names of the files by folder. Returns the files that are still there: those behind a folder that is
    a link, or that must not be changed.
    """
    stuck: list[str] = []
    try:
        with open_folder(root, *above) as opened_folder:
            for leaf, names in leaves.items():
                stuck += _remove_leaf(opened_folder, leaf, names)
    except FileNotFoundError:
        return stuck
    except (DamagedArtifact, OSError):
        return [name for names in leaves.values() for name in names]
    return stuck


def _remove_leaf(above, leaf, names):
    stuck = []
    try:
        with _open_child(above, leaf) as inside:
            for name in names:
                try:
                    os.unlink(name, dir_fd=inside)
                except FileNotFoundError:
                    continue
                except OSError:
                    stuck.append(name)
        os.rmdir(leaf, dir_fd=above)
    except FileNotFoundError:
        return []
    except DamagedArtifact:
        return names
    except OSError:  # not empty
        return stuck
    return stuck


def open_file(name: str, folder: int) -> int:
    """A regular file with one name, opened for reading.

    Raises FileNotFoundError, or DamagedArtifact for anything else.
    """
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as exc:
        words = {"name": name, "reason": reasons.describe_os_error(exc)}
        raise DamagedArtifact(_("%(name)s was not opened: %(reason)s.") % words) from exc
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(handle)
        raise DamagedArtifact(
            _("%(name)s was not opened: it is not a regular file with a single name.") % {"name": name}
        )
    return handle


def remove_drafts(root: Path) -> int:
    """Remove every draft; returns how many there were.

    Raises DamagedArtifact when their folder is a link: they are somebody else's.
    """
    count = 0
    with open_folder(root, DRAFTS) as inside, os.scandir(inside) as entries:
        for entry in list(entries):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=inside)
                count += 1
    return count


def create_draft(root: Path) -> tuple[Path, int]:
    """A new empty file that no reader can meet, opened for writing."""
    path = root / DRAFTS / f"{os.getpid()}-{secrets.token_hex(8)}"
    handle = os.open(path, _WRITE, 0o600)
    publication.restrict(handle, 0o600)
    return path, handle


@contextmanager
def _open_child(parent, name):
    handle = _open_folder(parent, name)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_folder(parent, name):
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except NotADirectoryError as exc:  # what O_NOFOLLOW says of a link together with O_DIRECTORY
        raise DamagedArtifact(
            _("The folder %(name)s of the artifact store is a link or a file.") % {"name": name}
        ) from exc


def _make_folder(parent, name):
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return False
    with _open_child(parent, name) as handle:
        publication.restrict(handle, 0o700)
    return True


def to_iso(at_ms: int) -> str:
    """Milliseconds since 1970 as metadata spells times: `2026-03-04T00:00:00.000000+00:00`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="microseconds")
