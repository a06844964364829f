"""Every write to the versions of an agent's files."""

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
    """Bring the sums of an agent's writes up to what was just recorded or rolled back, which no failure here undoes."""
    try:
        import_string(settings.MEMORY_SUMS)(db)
    except DatabaseError:  # the next import counts again
        log.exception("The sums of writes to memory files of %s were not refreshed.", db)


def store_version(db: str, name: str, data: bytes, *, modified_ms: int) -> bool:
    """Keep what a file holds when it differs from its latest version; says whether it did.

    `name` is relative to the workspace: one of the five memory files, or another collected file.
    """
    with transaction.atomic(using=db):
        return not is_latest(db, name, data) and _kept(db, name, data, modified_ms)[1]


def get_or_add_snapshot(db: str, name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """The version of a memory file with this content: its latest one if that holds it, else a new one.

    A file that returns to what it held before has a new version: history is a list.
    """
    with transaction.atomic(using=db):
        latest = _latest(db, name)
        if latest and latest.content_hash == hashlib.sha256(data).hexdigest():
            return latest
        return _kept(db, name, data, moment)[0]


def add_snapshot(db: str, name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """A version of a memory file of this moment, whatever its latest one holds, in the caller's transaction."""
    return _kept(db, name, data, moment)[0]


def build_snapshot(name: str, data: bytes, *, moment: int) -> FileSnapshot:
    """A version of a memory file, not stored yet; the same content of the same moment has the same id."""
    return FileSnapshot(**_columns(name, data, moment))


def is_latest(db: str, name: str, data: bytes) -> bool:
    """Whether this is what the latest version of a file holds that was kept."""
    latest = _latest(db, name)
    return bool(latest) and latest.content_hash == hashlib.sha256(data).hexdigest()


def has_version(db: str, name: str, data: bytes) -> bool:
    """Whether this is what any version of a file holds that was kept."""
    return find_versions(db, name).filter(content_hash=hashlib.sha256(data).hexdigest()).exists()


def _latest(db, name):
    return find_held_versions(db, name).defer("content", "raw").order_by("-created_at", "-id").first()


def _kept(db, name, data, moment):
    """The version, and whether it is new."""
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
    """The versions of a file that are kept."""
    model = FileSnapshot if name in MEMORY_FILES else WorkspaceFile
    return model.objects.using(db).filter(file_name=name)


def find_held_versions(db: str, name: str) -> QuerySet[Any]:
    """Those of them that the file itself held: not what somebody wrote into a file that had been displaced already."""
    if name not in MEMORY_FILES:
        return find_versions(db, name)
    intents = RollbackIntent.objects.using(db).filter(file_name=name).exclude(meanwhile_json="[]")
    return find_versions(db, name).exclude(id__in=[one for intent in intents for one in intent.meanwhile])
