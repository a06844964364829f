"""Removes snapshots of memory files that nothing refers to, except the newest ones."""

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
# The columns that may keep the hash of a content, with the prefix of the ids of their contents.
REFERRING = (
    *((model, "content", "") for model in (FileSnapshot, WorkspaceFile)),
    *((model, "raw", RAW_ID) for model in (FileSnapshot, WorkspaceFile)),
    *((WriteGuardianAudit, column, "") for column in ("diff", "hunks_json")),
)
# References to snapshots, both of a write first: the doctor checks them, and no snapshot they name is removed.
SNAPSHOT_REFERENCES = (
    *(Reference(WriteGuardianAudit, f"{side}_snapshot_id", FileSnapshot) for side in ("before", "after")),
    Reference(Rollback, "restored_snapshot_id", FileSnapshot),
    Reference(RollbackIntent, "after_snapshot_id", FileSnapshot),
)


def prune_snapshots(db: str) -> int:
    """Remove snapshots beyond the setting, and return how many; each batch is a short transaction."""
    removed = sum(_prune_file(db, name) for name in MEMORY_FILES)
    remove_unused_contents(db)
    return removed


def remove_unused_contents(db: str) -> int:
    """Remove contents that no version and no diff refers to, and return how many."""
    unused = FileContent.objects.using(db)
    for model, column, prefix in REFERRING:
        digest = Substr(Cast(column, TextField()), len(PREFIX) + 1)
        rows = model._base_manager.using(db).filter(**{f"{column}__startswith": PREFIX})
        unused = unused.exclude(id__in=rows.values_list(Concat(Value(prefix), digest), flat=True))
    with write_queue.agent_transaction(db):
        return unused.delete()[0]


def _prune_file(db, name):
    removed, most = 0, configuration.get_number(SETTING)
    while True:
        with write_queue.agent_transaction(db):
            ids = list(find_unreferenced_snapshots(db, name).values_list("id", flat=True)[most : most + BATCH])
            services.find_versions(db, name).filter(id__in=ids).delete()
        removed += len(ids)
        if len(ids) < BATCH:
            return removed


def find_unreferenced_snapshots(db: str, name: str):
    """Return the snapshots of a memory file without references, newest first.

    References are those of writes, rollbacks and open intents. Samples refer to writes, and thereby to their snapshots.
    """
    is_in_intent = Exists(RollbackIntent.objects.using(db).filter(ended_at=None, before_hash=OuterRef("content_hash")))
    uses = (is_in_intent, *(version.has_referrers(db) for version in SNAPSHOT_REFERENCES))
    # Versions written during a rollback wait for a person. If a list of them is damaged, ValueError is raised: any
    # version might be in it, so none is removed.
    waiting = RollbackIntent.objects.using(db).filter(settled_at=None).exclude(meanwhile_json="[]")
    lists = map(RollbackIntent.meanwhile.decode_strictly, waiting.values_list("meanwhile_json", flat=True))
    undecided = [version_id for version_ids in lists for version_id in version_ids]
    rows = services.find_versions(db, name).filter(*(~is_used for is_used in uses)).exclude(id__in=undecided)
    return rows.order_by("-created_at", "-id")
