"""Stores and finds versions of an agent's files.

All writes to the tables of versions go through this module.
"""

import hashlib
import logging
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .files import MEMORY_FILES
from .models import FileSnapshot, RollbackIntent, WorkspaceFile

log = logging.getLogger(__name__)


def refresh_sums(db: str) -> None:
    """Refresh the sums of an agent's writes after one was recorded or rolled back.

    A failure is logged and undoes nothing.
    """
    try:
        import_string(settings.MEMORY_SUMS)(db)
    except DatabaseError:  # the next import counts again
        log.exception("The sums of writes to memory files of %s were not refreshed.", db)


def tell_taken_back(db: str, audit_id: str, *, by: str) -> None:
    """Have the sample of a write reviewed again, because the write was rolled back by `by`.

    A failure is logged and undoes nothing: exports leave the sample out all the same.
    """
    try:
        import_string(settings.TAKEN_BACK)(db, audit_id, by=by)
    except (DatabaseError, Refused):
        log.exception("The sample of the write %s of %s was not sent to review.", audit_id, db)


def hash_content(data: bytes | None) -> str:
    """Return the SHA-256 of a content; empty for None, which is no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def store_version(db: str, name: str, data: bytes, *, modified_ms: int) -> bool:
    """Store the content of a file unless it is its latest version.

    Returns whether it was stored.

    `name` is relative to the workspace: one of the five memory files, or another collected file.
    """
    with transaction.atomic(using=db):
        return not is_latest(db, name, data) and _get_or_store(db, name, data, modified_ms)[1]


def get_or_add_snapshot(db: str, name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """Return the latest snapshot of a memory file if it has this content, else add one.

    A file that returns to an earlier content gets a new snapshot: history is a list.
    """
    with transaction.atomic(using=db):
        latest = _find_latest(db, name)
        if latest and latest.content_hash == hash_content(data):
            return latest
        return _get_or_store(db, name, data, moment)[0]


def add_snapshot(db: str, name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """Add a snapshot of a memory file of this moment, in the caller's transaction.

    It is added even where the latest snapshot has the same content.
    """
    return _get_or_store(db, name, data, moment)[0]


def build_snapshot(name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """Build a snapshot of a memory file, without storing it.

    The same content of the same moment has the same id.
    """
    return FileSnapshot(**_columns(name, data, moment))


def is_latest(db: str, name: str, data: bytes) -> bool:
    """Return whether this is the content of the latest stored version of a file."""
    latest = _find_latest(db, name)
    return bool(latest) and latest.content_hash == hash_content(data)


def has_version(db: str, name: str, data: bytes) -> bool:
    """Return whether this is the content of any stored version of a file."""
    return find_versions(db, name).filter(content_hash=hash_content(data)).exists()


def _find_latest(db, name):
    return find_held_versions(db, name).defer("content", "raw").order_by("-created_at", "-id").first()


def _get_or_store(db, name, data, moment):
    """Return the version with this content and moment, and whether it is new."""
    columns = _columns(name, data, moment)
    return find_versions(db, name).get_or_create(id=columns.pop("id"), defaults=columns)


def _columns(name, data, moment):
    digest = hash_content(data)
    text = data.decode(errors="replace")
    is_lossy = text.encode(errors="replace") != data or "\x00" in text
    return {
        "id": f"{name}@{digest[:32]}@{moment}",
        "file_name": name,
        "content": text.replace("\x00", "\ufffd"),
        "content_hash": digest,
        "created_at": moment,
        "size_bytes": len(data),
        "is_lossy": is_lossy,
        "raw": data if is_lossy else None,
    }


def find_versions(db: str, name: str) -> QuerySet[Any]:
    model = FileSnapshot if name in MEMORY_FILES else WorkspaceFile
    return model.objects.using(db).filter(file_name=name)


def find_held_versions(db: str, name: str) -> QuerySet[Any]:
    """Return the versions that the file itself held.

    Contents that somebody wrote into a file after a rollback had displaced it are left out.
    """
    if name not in MEMORY_FILES:
        return find_versions(db, name)
    intents = RollbackIntent.objects.using(db).filter(file_name=name).exclude(meanwhile_json="[]")
    return find_versions(db, name).exclude(id__in=[version_id for intent in intents for version_id in intent.meanwhile])


def find_version_at(db: str, name: str, at: int) -> Any:
    """Return the version that a file held at a moment (ms); None where no version is that old."""
    return find_held_versions(db, name).filter(created_at__lte=at).order_by("-created_at", "-id").first()


class DamagedVersion(Refused):
    """The content of a version differs from its hash."""


def bytes_to_text(data: bytes) -> str:
    """Return a content as text; `text_to_bytes` gives the same bytes back.

    Bytes that are no UTF-8 are kept as surrogates.
    """
    return data.decode("utf-8", "surrogateescape")


def text_to_bytes(text: str) -> bytes:
    """Return the bytes of a text that `bytes_to_text` made."""
    return text.encode("utf-8", "surrogateescape")


def read_version_bytes(version: FileSnapshot | WorkspaceFile) -> bytes:
    """Return the bytes of a version, checked against its hash.

    Raises DamagedVersion when they are missing or other bytes.
    """
    raw = version.raw
    content = version.content.encode("utf-8", "surrogatepass") if raw is None else bytes(raw)
    if hashlib.sha256(content).hexdigest() != version.content_hash:
        words = {"file": version.file_name, "id": version.id}
        raise DamagedVersion(_("The version %(id)s of %(file)s is damaged: its hash is another one.") % words)
    return content
