"""Reading an artifacts folder of the existing tool into this store. The folder is only read."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.utils.translation import gettext as _

from agents.clock import now_ms
from openclaw_web.errors import Refused

from . import blobs, handles, inventory, layout, services

IMPORT_SCHEMA = "openclaw-mem.artifact.import.v1"
USUAL_PLACES = ("", "artifacts", "openclaw-mem/artifacts", "memory/openclaw-mem/artifacts")


@dataclass(slots=True)
class Imported:
    """How many contents were taken over, how many were here already, and a row for each that was refused."""

    imported: int = 0
    known: int = 0
    bytes: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    def as_receipt(self) -> dict:
        return {
            "schema": IMPORT_SCHEMA,
            "imported": self.imported,
            "known": self.known,
            "bytes": self.bytes,
            "problems": self.problems,
        }


def import_folder(db: str, source: Path) -> Imported:
    """Stash every sound content of the folder, with its own metadata and time, as used by the agent whose file is `db`.

    Doing it again changes nothing. Raises Refused when there is no such folder.
    """
    root, result = _root(source), Imported()
    with services.stashing(db) as batch:
        for sha256, paths in inventory.stored(root):
            try:
                stored = _take(batch, root, sha256, round(inventory.size_and_time(paths)[1] * 1000))
            except Refused as exc:
                result.problems.append({"id": handles.of(sha256), "reason": exc.sentence})
            else:
                result.bytes += stored.bytes
                result.imported += stored.is_new
                result.known += not stored.is_new
    return result


def _root(source):
    for place in USUAL_PLACES:
        if (source / place / layout.BLOBS / "sha256").is_dir():
            return source / place
    raise Refused(_("%(path)s is no artifacts folder: there is no blobs/sha256 in it.") % {"path": source})


def _take(batch, root, sha256, changed_at):
    about = blobs.meta(root, sha256) or {}
    size, kind, meta = about.get("bytes"), about.get("kind"), about.get("meta")
    with blobs.opened(root, sha256) as blob:
        expected = size if isinstance(size, int) and 0 <= size <= blobs.MAX_BYTES else None
        _row, stored = batch.add(
            _Reader(blob.chunks(expected=expected)),
            kind=kind if isinstance(kind, str) else services.KIND,
            meta=meta if isinstance(meta, dict) else {},
            is_compressed=blob.is_compressed,
            at=_milliseconds(about.get("createdAt"), changed_at),
            first_stashed_at=about.get("createdAt"),
        )
    return stored


def _milliseconds(text, otherwise):
    with suppress(ValueError, TypeError, OverflowError):
        return min(round(datetime.fromisoformat(text).timestamp() * 1000), now_ms())
    return otherwise


class _Reader:
    """Chunks as a file to read from; what is wrong with them is known when the last one was read."""

    def __init__(self, chunks: Iterator[bytes]):
        self._chunks = chunks

    def read(self, _size: int = -1) -> bytes:
        return next(self._chunks, b"")
