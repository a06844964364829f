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
        if latest and latest.content_hash == hashlib.sha256(data).hexdigest():
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
    return bool(latest) and latest.content_hash == hashlib.sha256(data).hexdigest()


def has_version(db: str, name: str, data: bytes) -> bool:
    """Return whether this is the content of any stored version of a file."""
    return find_versions(db, name).filter(content_hash=hashlib.sha256(data).hexdigest()).exists()


def _find_latest(db, name):
    return find_held_versions(db, name).defer("content", "raw").order_by("-created_at", "-id").first()


def _get_or_store(db, name, data, moment):
    """Return the version with this content and moment, and whether it is new."""
    columns = _columns(name, data, moment)
    return find_versions(db, name).get_or_create(id=columns.pop("id"), defaults=columns)


def _columns(name, data, moment):
    digest = hashlib.sha256(data).hexdigest()
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
    """Return the stored versions of a file."""
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
