"""Imports an artifacts folder of the existing tool into this store.

The folder is only read.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused

from .. import handles, services
from ..errors import DamagedArtifact, NoRoom
from . import blobs, inventory, layout

IMPORT_SCHEMA = "openclaw-mem.artifact.import.v1"
USUAL_PLACES = ("", "artifacts", "openclaw-mem/artifacts", "memory/openclaw-mem/artifacts")


@dataclass(slots=True)
class ImportResult:
    """Counts of contents that are imported or known, and a row for each refused one."""

    imported: int = 0
    known: int = 0
    bytes: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    def as_receipt(self) -> dict:
        return {"schema": IMPORT_SCHEMA, **asdict(self)}


def import_folder(db: str, source: Path) -> ImportResult:
    """Stash every sound content of a folder, as used by the agent with file `db`.

    Each keeps its own metadata and time. Importing the folder again changes nothing. Raises Refused when there is no
    such folder.
    """
    root = _find_root(source)
    return import_contents(db, root, (sha256 for sha256, _paths in inventory.list_contents(root)))


def import_contents(db: str, root: Path, hashes: Iterable[str], *, most: int = blobs.MAX_BYTES) -> ImportResult:
    """Stash these contents (hashes) of a folder, each of at most `most` bytes.

    A full disk raises NoRoom.
    """
    result = ImportResult()
    with services.open_stash_batch(db) as batch:
        for sha256 in hashes:
            try:
                stored = _import_content(batch, root, sha256, most)
            except NoRoom:
                raise
            except Refused as exc:
                result.problems.append({"id": handles.from_sha256(sha256), "reason": exc.sentence})
            else:
                result.bytes += stored.bytes
                result.imported += stored.is_new
                result.known += not stored.is_new
    return result


def check_content(root: Path, sha256: str, *, most: int = blobs.MAX_BYTES) -> None:
    """Read a content in full, as importing it would.

    Raises Refused when it would not be imported.
    """
    with _translate_read_errors():
        document = blobs.read_meta(root, sha256) or {}
    services.encode_meta(*_read_kind_and_meta(document))
    with _translate_read_errors(), blobs.open_blob(root, sha256) as blob:
        for _chunk in _limit_chunks(blob.chunks(expected=_read_size(document)), most):
            pass


def read_session_key(root: Path, sha256: str) -> str:
    """The key of the session in a content's metadata; empty when it has none."""
    meta = None
    with suppress(OSError):
        meta = (blobs.read_meta(root, sha256) or {}).get("meta")
    key = meta.get("sessionKey") if isinstance(meta, dict) else None
    return key if isinstance(key, str) else ""


def _find_root(source):
    for place in USUAL_PLACES:
        if (source / place / layout.BLOBS / "sha256").is_dir():
            return source / place
    raise Refused(_("%(path)s is not an artifacts folder: blobs/sha256 is missing.") % {"path": source})


def _import_content(batch, root, sha256, most):
    with _translate_read_errors():
        document = blobs.read_meta(root, sha256) or {}
    kind, meta = _read_kind_and_meta(document)
    with _translate_read_errors(), blobs.open_blob(root, sha256) as blob:
        _row, stored = batch.add(
            _Reader(_limit_chunks(blob.chunks(expected=_read_size(document)), most)),
            kind=kind,
            meta=meta,
            is_compressed=blob.is_compressed,
            at=_parse_milliseconds(document.get("createdAt"), round(blob.changed_at * 1000)),
            first_stashed_at=document.get("createdAt"),
        )
    return stored


def _read_kind_and_meta(document):
    kind, meta = document.get("kind"), document.get("meta")
    return kind if isinstance(kind, str) else services.OUTPUT_KIND, meta if isinstance(meta, dict) else {}


def _read_size(document):
    size = document.get("bytes")
    return size if type(size) is int and 0 <= size <= blobs.MAX_BYTES else None


@contextmanager
def _translate_read_errors():
    """Turn an error of reading a file into DamagedArtifact."""
    try:
        yield
    except OSError as exc:
        raise DamagedArtifact(
            _("The content cannot be read: %(reason)s.") % {"reason": exc.strerror or type(exc).__name__}
        ) from exc


def _limit_chunks(chunks, most):
    remaining = most
    with _translate_read_errors():  # translated here, because the stash takes an OSError for one of our own disk
        for chunk in chunks:
            remaining -= len(chunk)
            if remaining < 0:
                words = _("The content is larger than %(size)s MB. Use “artifact import” instead.")
                raise DamagedArtifact(words % {"size": most // 1024**2})
            yield chunk


def _parse_milliseconds(text, otherwise):
    with suppress(ValueError, TypeError, OverflowError):
        return min(round(datetime.fromisoformat(text).timestamp() * 1000), now_ms())
    return otherwise


class _Reader:
    """Chunks as a file to read from.

    Errors in the chunks are known once the last one was read.
    """

    def __init__(self, chunks: Iterator[bytes]):
        self._chunks = chunks

    def read(self, _read_size: int = -1) -> bytes:
        return next(self._chunks, b"")
