"""Versions of memory files that nothing refers to, and that are not among the newest of them: they go."""

from django.db.models import Exists, OuterRef, TextField, Value
from django.db.models.functions import Cast, Concat, Substr

from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.integrity import Reference
from people.configuration import setting_values as configuration

from .. import services
from ..files import MEMORY_FILES
from ..models import FileContent, FileSnapshot, Rollback, RollbackIntent, WorkspaceFile, WriteGuardianAudit
from ..models.shared_columns import PREFIX, RAW_ID

SETTING = "writeGuardianAuditing.maxSnapshotsPerFile"
BATCH = 200
# The columns that may keep the hash of a content, and how the ids of their contents begin.
REFERRING = (
    *((model, "content", "") for model in (FileSnapshot, WorkspaceFile)),
    *((model, "raw", RAW_ID) for model in (FileSnapshot, WorkspaceFile)),
    *((WriteGuardianAudit, column, "") for column in ("diff", "hunks_json")),
)
# What names a version, the two of a write first: the doctor looks whether it is there, and none of these is removed.
SNAPSHOT_REFERENCES = (
    *(Reference(WriteGuardianAudit, f"{side}_snapshot_id", FileSnapshot) for side in ("before", "after")),
    Reference(Rollback, "restored_snapshot_id", FileSnapshot),
    Reference(RollbackIntent, "after_snapshot_id", FileSnapshot),
)


def prune_snapshots(db: str) -> int:
    """Remove what is beyond the setting; how many versions that were. Each batch is a short transaction."""
    removed = sum(_prune(db, name) for name in MEMORY_FILES)
    remove_unused_contents(db)
    return removed


def remove_unused_contents(db: str) -> int:
    """Remove contents that no version and no diff refers to; how many."""
    unused = FileContent.objects.using(db)
    for model, column, prefix in REFERRING:
        digest = Substr(Cast(column, TextField()), len(PREFIX) + 1)
        rows = model._base_manager.using(db).filter(**{f"{column}__startswith": PREFIX})
        unused = unused.exclude(id__in=rows.values_list(Concat(Value(prefix), digest), flat=True))
    with write_queue.agent_transaction(db):
        return unused.delete()[0]


def _prune(db, name):
    removed, most = 0, configuration.get_number(SETTING)
    while True:
        with write_queue.agent_transaction(db):
            ids = list(find_unreferenced_snapshots(db, name).values_list("id", flat=True)[most : most + BATCH])
            services.find_versions(db, name).filter(id__in=ids).delete()
        removed += len(ids)
        if len(ids) < BATCH:
            return removed


def _asked_about(db):
    """Versions that somebody wrote while a rollback was carried out, and nobody has said yet what becomes of them.

    Raises ValueError where the list of an intent is damaged: any version might be one of them, and none is removed.
    """
    waiting = RollbackIntent.objects.using(db).filter(settled_at=None).exclude(meanwhile_json="[]")
    decode = RollbackIntent.meanwhile.decode_strictly
    return [version_id for text in waiting.values_list("meanwhile_json", flat=True) for version_id in decode(text)]


def find_unreferenced_snapshots(db: str, name: str):
    """The versions of a memory file that no write, rollback or intent of one refers to, the newest first.

    Samples refer to writes, and thereby to their versions.
    """
    begun = Exists(RollbackIntent.objects.using(db).filter(ended_at=None, before_hash=OuterRef("content_hash")))
    uses = (begun, *(version.users(db) for version in SNAPSHOT_REFERENCES))
    rows = services.find_versions(db, name).filter(*(~is_used for is_used in uses)).exclude(id__in=_asked_about(db))
    return rows.order_by("-created_at", "-id")
