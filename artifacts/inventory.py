"""Which contents an artifacts folder holds, ours or another program's: names, sizes and times; nothing is opened."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from . import layout

_FILE = re.compile(r"([0-9a-f]{64})(?:\.txt|\.txt\.gz|\.json)")


def stored(root: Path) -> Iterator[tuple[str, int, float]]:
    """Hash, bytes on disk and time of every content, and of metadata and links in its place."""
    for leaf in _leaves(root):
        found: dict[str, tuple[int, float]] = {}
        for kind in (layout.BLOBS, layout.META):
            for name, about in _files(root.joinpath(kind, "sha256", *leaf)):
                match = _FILE.fullmatch(name)
                if match and (match[1][:2], match[1][2:4]) == leaf:
                    size, changed_at = found.get(match[1], (0, 0.0))
                    found[match[1]] = (size + about.st_size, max(changed_at, about.st_mtime))
        yield from ((sha256, *about) for sha256, about in sorted(found.items()))


def _leaves(root):
    """The pairs of folders that contents or metadata are in."""
    for first in _folders(root / layout.BLOBS / "sha256", root / layout.META / "sha256"):
        both = (root / kind / "sha256" / first for kind in (layout.BLOBS, layout.META))
        yield from ((first, second) for second in _folders(*both))


def _folders(*parents):
    names = set()
    for parent in parents:
        if parent.is_dir() and not parent.is_symlink():
            with os.scandir(parent) as entries:
                names.update(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return sorted(names)


def _files(folder):
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
