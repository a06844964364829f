"""Exchanges two files by renames and links, where the system has no call for it.

1. The file is renamed to a name of ours, `aside`. Whatever the file is at that moment, its content is not replaced.

2. The draft is linked to the name of the file. A link replaces no file: a process that created a new file meanwhile
keeps it.

3. The file that was moved away takes the name of the draft, which has the other name by now.

Between the first step and the second there is no file. `finish_exchange` completes or undoes what a kill left.
"""

import os
import stat
from contextlib import suppress

from .publication import REFUSED


class NoSecondName(OSError):
    """The file system refuses a second name for a file.

    A file that was moved away could not be put back without replacing another.
    """


def exchange(folder: int, draft: str, aside: str, name: str) -> bool:
    """Exchange a draft with a file; False when another process created a new file meanwhile.

    In that case all three files stay where they are.

    Raises NoSecondName before anything is moved.
    """
    if not _is_folder(folder, draft):
        check_links(folder, draft, aside)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        is_ours = give_name(folder, draft, name)
    except OSError:
        with suppress(OSError):
            _move_back(folder, aside, name)
        raise
    if is_ours:
        _take_draft_name(folder, draft, aside)
    return is_ours


def check_links(folder: int, name: str, probe: str) -> None:
    """Give a file a second name for a moment. Raises NoSecondName where that is refused."""
    try:
        _link(folder, name, probe)
    except OSError as exc:
        if exc.errno not in REFUSED:
            raise
        raise NoSecondName(exc.errno, exc.strerror) from exc
    os.unlink(probe, dir_fd=folder)


def give_name(folder: int, old: str, new: str) -> bool:
    """Give a file a new name; False when something has that name.

    The file may keep the old name as well.
    """
    try:
        if _is_folder(folder, old):  # nothing of an agent's is replaced by it: the system refuses
            os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            _link(folder, old, new)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def finish_exchange(folder: int, draft: str, aside: str, name: str) -> None:
    """Complete or undo an exchange that a kill interrupted.

    A file remains at `aside` only when another process created a new file while the old one was moved away.
    """
    if not exists(folder, aside):
        return
    if is_same(folder, aside, draft):  # only tried whether links are possible
        os.unlink(aside, dir_fd=folder)
    elif not exists(folder, name):
        _move_back(folder, aside, name)
    elif not exists(folder, draft) or is_same(folder, name, draft):
        _take_draft_name(folder, draft, aside)
    elif is_same(folder, aside, name):
        os.unlink(aside, dir_fd=folder)


def exists(folder: int, name: str) -> bool:
    """Whether a file or folder has this name."""
    return _read_status(folder, name) is not None


def is_same(folder: int, *names: str) -> bool:
    """Whether two names belong to one file."""
    first, second = (_read_status(folder, name) for name in names)
    return first is not None and second is not None and os.path.samestat(first, second)


def _move_back(folder, aside, name):
    if give_name(folder, aside, name):
        with suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)


def _take_draft_name(folder, draft, aside):
    try:
        os.rename(aside, draft, src_dir_fd=folder, dst_dir_fd=folder)
    except NotADirectoryError:  # at the last moment a folder took the place of the file
        os.unlink(draft, dir_fd=folder)
        os.rename(aside, draft, src_dir_fd=folder, dst_dir_fd=folder)


def _link(folder, old, new):
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)


def _is_folder(folder, name):
    status = _read_status(folder, name)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _read_status(folder, name):
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
