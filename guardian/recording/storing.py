"""Every write of audits: with the versions before and after, the diff between them, and the status as its history.

What takes long, the diff, is made before anybody is held up.
"""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite import writing
from people.configuration import keys as configuration

from .. import services
from ..changes import Change, change_of
from ..correcting import rules
from ..models import GuardianReceipt, GuardianStatus, WriteGuardianAudit
from .told import FileChange, Stored, Told

SNAPSHOTS = "writeGuardianAuditing.storeFileSnapshots"


class Conflict(Refused):
    """Ids that were used for other writes."""

    status = 409

    def __init__(self, ids):
        sentence = _("Another write has this ID. Nothing was stored.")
        super().__init__(sentence, reasons=[{"id": name, "reason": sentence} for name in ids])


def store(db: str, told: Sequence[Told]) -> Stored:
    """Store writes: all, or with a Conflict none. Told again under the same id with the same content: the same one."""
    keeps = bool(configuration.get(SNAPSHOTS))
    changes = {one.key: _changed(one.row.target_file, one.change) for one in told if one.change and keeps}
    stored = Stored()
    with writing.in_turn_of(db):
        fresh = _fresh(db, told, stored)
        for one in fresh:
            if one.change and (change := changes.get(one.key)):
                _keep_versions(db, one.row, one.change, change)
            one.row.sources = one.source
            stored.new.append(one.key)
        rules.flag(db, [one.row for one in fresh])
        WriteGuardianAudit.objects.using(db).bulk_create([one.row for one in fresh])
        GuardianReceipt.objects.using(db).bulk_create(
            [GuardianReceipt(id=one.key, audit_id=one.key, body_sha256=one.body_sha256) for one in fresh]
        )
        GuardianStatus.objects.using(db).bulk_create([_first_status(one) for one in fresh])
    return stored


def _changed(name, sides: FileChange) -> Change:
    return change_of(sides.before, sides.after, name)


def _fresh(db, told, stored):
    """Those that nobody told under their id before. Raises Conflict for an id that means something else."""
    receipts = GuardianReceipt.objects.using(db).in_bulk([one.key for one in told])
    fresh: dict[str, Told] = {}
    clashes = []
    for one in told:
        before = receipts.get(one.key)
        known = before.body_sha256 if before else fresh[one.key].body_sha256 if one.key in fresh else None
        if known is None:
            fresh[one.key] = one
        elif known != one.body_sha256:
            clashes.append(one.key)
        elif before:
            stored.known.append(before.audit_id)
    if clashes:
        raise Conflict(clashes)
    return list(fresh.values())


def _keep_versions(db, row, sides: FileChange, change: Change):
    """The versions of both sides, and what lies between them."""
    row.before_snapshot = _version(db, row, sides.before, row.created_at - 1)
    row.after_snapshot = _version(db, row, sides.after, row.created_at)
    row.diff, row.hunks_json = change.diff, change.hunks_json
    row.lines_added, row.lines_removed, row.lines_modified = change.added, change.removed, change.modified


def _version(db, row, data, moment):
    return None if data is None else services.snapshot(db, row.target_file, data, moment=moment)


def _first_status(one: Told):
    return GuardianStatus(
        audit_id=one.key,
        status=one.row.status,
        given_by=one.told_by,
        reason=one.row.reason or "",
        created_at=one.row.created_at,
    )


__all__ = ["Conflict", "FileChange", "store"]
