"""Versions of memory files that nothing refers to, and that are not among the newest of them: they go."""

import orjson
from django.db.models import Exists, OuterRef, Q

from openclaw_web.sqlite import writing
from people.configuration import keys as configuration

from .. import services
from ..files import MEMORY_FILES
from ..models import Rollback, RollbackIntent, WriteGuardianAudit

SETTING = "writeGuardianAuditing.maxSnapshotsPerFile"
BATCH = 200


def prune(db: str) -> int:
    """Remove what is beyond the setting; how many versions that were. Each batch is a short transaction."""
    return sum(_prune(db, name) for name in MEMORY_FILES)


def _prune(db, name):
    removed, most = 0, configuration.get(SETTING)
    while True:
        with writing.in_turn_of(db):
            ids = list(unreferenced(db, name).values_list("id", flat=True)[most : most + BATCH])
            services.versions(db, name).filter(id__in=ids).delete()
        removed += len(ids)
        if len(ids) < BATCH:
            return removed


def _asked_about(db):
    """Versions that somebody wrote while a rollback was carried out, and nobody has said yet what becomes of them."""
    waiting = RollbackIntent.objects.using(db).filter(settled_at=None).exclude(meanwhile_json="[]")
    return [one for some in waiting.values_list("meanwhile_json", flat=True) for one in orjson.loads(some)]


def unreferenced(db: str, name: str):
    """The versions of a memory file that no write, rollback or intent of one refers to, the newest first.

    Samples refer to writes, and thereby to their versions.
    """
    of_writes = Q(before_snapshot=OuterRef("id")) | Q(after_snapshot=OuterRef("id"))
    uses = (
        WriteGuardianAudit.objects.using(db).filter(of_writes),
        Rollback.objects.using(db).filter(restored_snapshot=OuterRef("id")),
        RollbackIntent.objects.using(db).filter(after_snapshot=OuterRef("id")),
        RollbackIntent.objects.using(db).filter(ended_at=None, before_hash=OuterRef("content_hash")),
    )
    rows = services.versions(db, name).filter(*(~Exists(rows) for rows in uses)).exclude(id__in=_asked_about(db))
    return rows.order_by("-created_at", "-id")
