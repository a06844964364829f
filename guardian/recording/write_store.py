"""Every write of audits: told once or often, by whomever, each write is one row; with versions, diff and statuses.

What takes long, the diff, is made before anybody is held up.
"""

import copy
import hashlib
from collections.abc import Sequence

from openclaw_web.sqlite import write_queue
from people.configuration import setting_values as configuration

from ..changes import Change, ChangeCache, compute_change
from ..corrections import rules
from ..models import GuardianReceipt, GuardianStatus, WriteGuardianAudit
from . import snapshot_matching, snapshot_pairs, sql, write_replacement
from .dedup import Conflict, find_duplicates, merge_report, rank_sources
from .reports import CHANGED, FileChange, Report, Source, StoreResult, build_change_columns
from .snapshot_placement import place_snapshots

SNAPSHOTS_SETTING = "writeGuardianAuditing.storeFileSnapshots"


def store_reports(db: str, told: Sequence[Report], made: ChangeCache | None = None) -> StoreResult:
    """Store writes: all, or with a Conflict none. Told again under the same id with the same content: the same one.

    `made` remembers diffs from one call to the next. A write that another source told within two seconds of it, with
    the same file and fact, is that row.
    """
    keeps = configuration.is_on(SNAPSHOTS_SETTING)
    made = made or ChangeCache()
    changes = {one.key: _changed(one.row.target_file, one.change, made) for one in told if one.change and keeps}
    rules_now, stored = rules.read_rule_rows(db), StoreResult()
    with write_queue.agent_transaction(db):
        fresh, ids = _fresh(db, told, stored)
        twins = find_duplicates(db, fresh, ids)
        rules.flag_writes([one.row for one in fresh], rules_now)
        since: dict[str, int] = {}
        statuses: list[GuardianStatus] = []
        for one in fresh:
            twin = twins.get(one.key)
            row = _new(one, stored) if twin is None else _merged(db, one, twin, stored, rules_now)
            at = _news_since(db, row, one, changes.get(one.key))
            if at is not None:
                since[row.target_file] = min(at, since.get(row.target_file, at))
            if twin is None:
                sql.insert_rows(db, [row])
                statuses.append(_first_status(row, one.told_by))
            else:
                row.save(using=db)
        sql.insert_rows(db, statuses)
        _write_receipts(db, fresh, stored)
        for name, at in since.items() if keeps else ():
            stored.unattributed += snapshot_matching.match_in_transaction(db, name, since=at, changes=made).unattributed
    return stored


def find_known_ids(db: str, ids: Sequence[str], source: Source) -> set[str]:
    """Those of these ids under which a source that sends no bodies told of a write before."""
    receipts = sql.read_receipts(db, ids)
    rows = {id_: receipts[id_][0] if id_ in receipts else id_ for id_ in ids}
    sources = sql.read_sources(db, set(rows.values()))
    return {id_ for id_, row_id in rows.items() if sources.get(row_id, 0) & source}


def find_row_id(db: str, told_id: str) -> str | None:
    """The id of the row of a write that was told under this id; None when there is none, or this site wrote it."""
    found = write_replacement.find_current_id(db, told_id)
    sources = WriteGuardianAudit.objects.using(db).filter(id=found).values_list("sources", flat=True).first()
    return None if sources is None or sources & Source.OWN else found


def hash_body(body: bytes) -> str:
    """The hash by which a body that is told again is known."""
    return hashlib.sha256(body).hexdigest()


def _changed(name, sides: FileChange, made: ChangeCache) -> Change:
    pair = tuple(one and one[:32] for one in sides.hashes)
    return made.of(name, pair, lambda: compute_change(sides.before, sides.after, name))


def _fresh(db, told, stored):
    """Those that their source did not tell of before, the oldest first; and which of the ids are of stored writes.

    Raises Conflict for an id that means something else.
    """
    receipts = sql.read_receipts(db, [one.key for one in told])
    ids = {one.key: receipts[one.key][0] if one.key in receipts else one.key for one in told}
    sources = sql.read_sources(db, {*ids, *ids.values()})
    fresh: dict[str, Report] = {}
    clashes = []
    for one in told:
        told_before = receipts[one.key][1] if one.key in receipts else ""
        is_known = one.body_sha256 == told_before if one.body_sha256 else sources.get(ids[one.key], 0) & one.source
        if one.key in fresh:
            clashes += [one.key] if one.body_sha256 != fresh[one.key].body_sha256 else []
        elif is_known:
            stored.known.append(ids[one.key])
            stored.ids[one.key] = ids[one.key]
        elif one.body_sha256 and told_before:
            clashes.append(one.key)
        else:
            fresh[one.key] = one
    if clashes:
        raise Conflict(clashes)
    return sorted(fresh.values(), key=lambda one: one.row.created_at), sources.keys()


def _new(one: Report, stored):
    """The row of a write that nobody told of before, not stored yet."""
    one.row.sources |= one.source
    stored.new.append(one.key)
    stored.ids[one.key] = one.key
    return one.row


def _merged(db, one: Report, twin, stored, rules_now):
    """The row of a write that another source told of, with what this one knows; under the id of the better source."""
    is_better = rank_sources(one.source) < rank_sources(twin.sources) and twin.id != one.key
    merge_report(twin, one)
    rules.flag_writes([twin], rules_now)
    if is_better and write_replacement.may_replace(db, twin.id, one.key):
        twin = _renamed(db, twin, one)
    stored.known.append(twin.id)
    stored.merged.append(twin.id)
    stored.ids[one.key] = twin.id
    return twin


def _renamed(db, twin, one):
    """The row of a write under the id that its best source gave it, in place of the row that it had."""
    row = copy.copy(twin)
    row._state = copy.copy(twin._state)
    row.id = one.key
    row.save(using=db, force_insert=True)
    _first_status(row, one.told_by).save(using=db)
    write_replacement.replace_write(db, twin, row)
    return row


def _write_receipts(db, fresh, stored):
    receipts = [
        GuardianReceipt(id=one.key, audit_id=stored.ids[one.key], body_sha256=one.body_sha256)
        for one in fresh
        if one.body_sha256 or stored.ids[one.key] != one.key
    ]
    sql.insert_rows(db, receipts)


def _news_since(db, row, one: Report, change: Change | None):
    """Give a write the versions of both sides and what lies between them, where they were told.

    From when on other writes may lie elsewhere by now, or this one has to be found a place; None where nothing may.
    """
    if row.status not in CHANGED and change and not row.sources & Source.ELSEWHERE:
        return _held(db, row, one)
    is_known = row.hunks_json is not None and not row.sources & Source.FILES
    if is_known or row.status not in CHANGED or row.sources & Source.ELSEWHERE:
        return None
    of_time = row.created_at - snapshot_pairs.LATE_MS - snapshot_pairs.EARLY_MS
    if change is None:
        return of_time
    was_elsewhere = bool(row.sources & Source.FILES)
    placed = place_snapshots(db, row.target_file, one.change, row.created_at)
    row.before_snapshot_id, row.after_snapshot_id = (side and side.id for side in (placed.before, placed.after))
    for name, value in build_change_columns(change).items():
        setattr(row, name, value)
    row.sources &= ~Source.FILES
    row.is_diff_shared = False
    if was_elsewhere or placed.is_news:
        moments = [side.created_at for side in (placed.before, placed.after) if side]
        return min(moments + ([of_time] if was_elsewhere else []))
    return None


def _held(db, row, one: Report):
    """Give a write that changed nothing the version that its file had; from when on that is news, or None."""
    if row.before_snapshot_id or one.change is None or one.change.before is None:
        return None
    placed = place_snapshots(db, row.target_file, one.change, row.created_at)
    row.before_snapshot_id = placed.before.id if placed.before else None
    return placed.before.created_at if placed.before and placed.is_news else None


def _first_status(row, told_by):
    about = {"given_by": told_by, "reason": row.reason or "", "created_at": row.created_at}
    return GuardianStatus(audit_id=row.id, status=row.status, **about)


__all__ = ["Conflict", "FileChange", "hash_body", "store_reports"]
