"""Finds contents of the store that are missing or changed.

It compares names and sizes alone, without reading any content.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .. import handles
from ..models import Artifact
from . import blobs, inventory, layout


@dataclass(slots=True)
class Losses:
    """Contents (hashes) that an agent refers to: `gone` without a blob, `resized`, `unnamed` without metadata."""

    gone: set[str] = field(default_factory=set)
    resized: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)

    @property
    def unusable(self) -> set[str]:
        """The contents without a blob of the right size."""
        return self.gone | self.resized


class ContentIndex:
    """All contents of the store by name, as they were a moment ago."""

    def __init__(self, root: Path):
        self.root = root
        self.paths = dict(inventory.list_contents(root))

    def find_losses(self, db: str) -> tuple[Losses, set[str]]:
        """The losses of the agent whose file is `db`, and all contents it refers to."""
        losses, used = Losses(), set()
        rows = Artifact.objects.using(db).order_by().values_list("handle", "bytes", "stored_bytes").distinct()
        right: set[str] = set()
        for handle, size, stored_size in rows.iterator(5_000):
            sha256 = handle[-64:]
            used.add(sha256)
            blobs_of = self.find_blobs(sha256)
            if not blobs_of:
                losses.gone.add(sha256)
            elif self._has_size(sha256, blobs_of, size, stored_size):
                right.add(sha256)
            else:
                losses.resized.add(sha256)
            if blobs_of and len(blobs_of) == len(self.paths[sha256]):
                losses.unnamed.add(sha256)
        losses.resized -= right
        return losses, used

    def find_blobs(self, sha256: str) -> list[str]:
        """The paths of a content's blobs.

        There are two when two versions of a program wrote at once.
        """
        return [path for path in self.paths.get(sha256, ()) if path.endswith((layout.PLAIN, layout.GZIPPED))]

    def _has_size(self, sha256, paths, size, stored_size):
        # A content that was written again may be packed in another way: metadata that came with it says how long it is.
        for path in paths:
            try:
                actual_size = os.lstat(path).st_size
            except FileNotFoundError:
                continue
            if actual_size == (stored_size if path.endswith(layout.GZIPPED) else size):
                return True
            meta = blobs.read_meta(self.root, sha256) if path.endswith(layout.GZIPPED) else None
            if meta and meta.get("storedBytes") == actual_size:
                return True
        return False


def find_uses(db: str, sha256s: Iterable[str]) -> dict[str, list[Artifact]]:
    """The rows that refer to these contents, by hash."""
    rows_by_hash: dict[str, list[Artifact]] = {}
    for handle in map(handles.from_sha256, sorted(sha256s)):
        rows = Artifact.objects.using(db).filter(handle=handle).order_by("created_at", "id")
        rows_by_hash[handle[-64:]] = list(rows.only("id", "handle", "kind", "session_id", "record_id", "tool"))
    return rows_by_hash
