"""Lists the contents of an artifacts folder, ours or another program's.

It reads names only, and opens nothing.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import layout

_FILE = re.compile(r"([0-9a-f]{64})(?:\.txt|\.txt\.gz|\.json)")


def list_contents(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The hash of every content, in order, and the paths of its files.

    Metadata alone and links count as well.
    """
    kind_folders = [os.path.join(root, kind, "sha256") for kind in (layout.BLOBS, layout.META)]  # noqa: PTH118 - 100,000 of them
    for first in _list_folders(kind_folders):
        above = [f"{parent}/{first}" for parent in kind_folders]
        for second in _list_folders(above):
            yield from sorted(_list_leaf([f"{parent}/{second}" for parent in above], first, second).items())


def read_size_and_time(paths: Iterable[str]) -> tuple[int, float]:
    """Bytes on disk and latest time of a content's files.

    Files that are gone do not count.
    """
    size, changed_at = 0, 0.0
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        size, changed_at = size + status.st_size, max(changed_at, status.st_mtime)
    return size, changed_at


def _list_leaf(folders, first, second):
    paths: dict[str, list[str]] = {}
    for folder in folders:
        for name in _list_names(folder):
            match = _FILE.fullmatch(name)
            if match and (match[1][:2], match[1][2:4]) == (first, second):
                paths.setdefault(match[1], []).append(f"{folder}/{name}")
    return paths


def _list_folders(parents):
    names = set()
    for parent in parents:
        if os.path.isdir(parent) and not os.path.islink(parent):  # noqa: PTH112, PTH114
            with os.scandir(parent) as entries:
                names.update(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return sorted(names)


def _list_names(folder):
    try:
        return os.listdir(folder)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
