"""Lines that a rollback brought back between later changes: the writes that it took back say which they were."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from openclaw_web.sqlite.json_columns import decode

from .changes import Hunk
from .models import Rollback, RollbackIntent, WriteGuardianAudit


def taken_back(db: str, rollback_ids: Collection[str]) -> dict[str, list[str]]:
    """Ids of the writes that each of these rollbacks took back, as a whole or one change of them, by its own id."""
    found = defaultdict(list)
    rows = Rollback.objects.using(db).filter(own_audit__in=rollback_ids).order_by("audit__created_at", "audit_id")
    for own_id, audit_id in rows.values_list("own_audit_id", "audit_id"):
        found[own_id].append(audit_id)
    of_one_change = WriteGuardianAudit.objects.using(db).filter(id__in=set(rollback_ids) - found.keys())
    by_version = dict(of_one_change.exclude(after_snapshot=None).values_list("after_snapshot_id", "id"))
    intents = RollbackIntent.objects.using(db).filter(after_snapshot__in=by_version)
    for version_id, audits in intents.values_list("after_snapshot_id", "audits_json"):
        found[by_version[version_id]] += decode(audits, list)
    return dict(found)


def matched(
    texts: Sequence[str], places: Sequence[int], before: Sequence[str], hunks: Sequence[Hunk]
) -> Iterator[tuple[int, int]]:
    """Which of the lines `places` of `texts` a write had changed or removed: (place, where the line was before it)."""
    gone = defaultdict(list)
    for old_start, old_end, _new_start, _new_end in hunks:
        for number in range(old_start, min(old_end, len(before))):
            gone[before[number]].append(number)
    for place in places:
        if was := gone.get(texts[place]):
            yield place, was.pop(0)
