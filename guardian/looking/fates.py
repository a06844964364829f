"""What people did about many writes at once: who took one back and why, and what they said it should have been."""

from collections.abc import Collection
from typing import Any

from ..correcting import telling
from ..models import BehaviorCorrection, Rollback

ROLLBACK = ("id", "rolled_back_at", "rolled_back_by", "reason", "restored_snapshot_id", "own_audit_id", "way")


def of_writes(db: str, audit_ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Of each of these writes its `rollback`, None where there is none, and its `corrections`, the oldest first."""
    found: dict[str, dict[str, Any]] = {name: {"rollback": None, "corrections": []} for name in audit_ids}
    for row in Rollback.objects.using(db).filter(audit__in=audit_ids).values("audit_id", *ROLLBACK):
        found[row.pop("audit_id")]["rollback"] = row
    rows = BehaviorCorrection.objects.using(db).filter(audit__in=audit_ids)
    for row in rows.order_by("corrected_at", "id"):
        found[row.audit_id]["corrections"].append(telling.correction(row))
    return found
