"""Every write to the versions of an agent's files."""

import hashlib

from django.db import transaction

from .files import MEMORY_FILES
from .models import FileSnapshot, WorkspaceFile


def keep_version(db: str, name: str, data: bytes, *, modified_ms: int) -> bool:
    """Keep what a file holds when it differs from its latest version; says whether it did.

    `name` is relative to the workspace: one of the five memory files, or another collected file.
    """
    digest = hashlib.sha256(data).hexdigest()
    text = data.decode(errors="replace")
    is_lossy = text.encode(errors="replace") != data or "\x00" in text
    with transaction.atomic(using=db):
        if is_latest(db, name, data):
            return False
        _, created = _versions(db, name).get_or_create(
            id=f"{name}@{digest[:32]}@{modified_ms}",
            defaults={
                "file_name": name,
                "content": text.replace("\x00", "\ufffd"),
                "content_hash": digest,
                "created_at": modified_ms,
                "size_bytes": len(data),
                "is_lossy": is_lossy,
                "raw": data if is_lossy else None,
            },
        )
    return created


def is_latest(db: str, name: str, data: bytes) -> bool:
    """Whether this is what the latest version of a file holds that was kept."""
    latest = _versions(db, name).order_by("-created_at", "-id").values_list("content_hash", flat=True).first()
    return latest == hashlib.sha256(data).hexdigest()


def _versions(db, name):
    model = FileSnapshot if name in MEMORY_FILES else WorkspaceFile
    return model.objects.using(db).filter(file_name=name)
