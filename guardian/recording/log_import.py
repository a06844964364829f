"""Writes that a plugin wrote down, in a log or a database: placed and stored, however often they are read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count

from django.db import IntegrityError

from agents.models import Agent
from gate.models import MemoryGateDecision
from ledger import consent
from ledger.collectors.database import DamagedDatabase
from ledger.models import ConversationTurn
from openclaw_web.clock import now_ms
from openclaw_web.sqlite import write_queue

from ..changes import ChangeCache
from ..collectors.source_writes import SourceWrite
from ..file_bytes import DamagedVersion, read_version_bytes
from ..files import MOST_BYTES
from ..models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from . import write_provenance, write_store
from .dedup import Conflict
from .reports import FileChange, Origin, Report, Source, Status, StoreResult

CHUNK = 100  # writes in one transaction
HELD = 16 * 1024 * 1024  # bytes of versions that wait for it
AGAIN = 2_000  # writes without a turn that are looked at again after an import, the newest
BY = "plugin"
SOURCE = "reflection.db"  # whose names are not those of people of this site
IMPORT = "import"  # who switched off the rules of others
ChangeReader = Callable[[SourceWrite], FileChange | None]
CONTRADICTS = "its rollback, or a correction of it, contradicts what is stored"


@dataclass(slots=True)
class ImportResult:
    """What an import found. `refused` names what was not stored, and why: ids that are taken, damaged versions."""

    writes: int = 0
    merged: int = 0
    known: int = 0
    withheld: int = 0
    unattributed: int = 0
    rollbacks: int = 0
    corrections: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def import_writes(
    agent: Agent,
    found: Sequence[SourceWrite],
    source: Source,
    change: ChangeReader | None = None,
    *,
    is_elsewhere: bool = False,
    made: ChangeCache | None = None,
) -> ImportResult:
    """Store what was read for an agent, in the order of time: what is known stays. `change` fetches what files held.

    `is_elsewhere`: it was told in a workspace that no agent has. `made` remembers diffs from one call to the next.
    """
    result, made = ImportResult(), made or ChangeCache()
    ordered = sorted(found, key=lambda one: one.at)
    for start in range(0, len(ordered), CHUNK):
        some = ordered[start : start + CHUNK]
        told = _told_of(agent, some, source, Source.ELSEWHERE if is_elsewhere else 0, result)
        _store_some(agent.db, told, {one.id: one for one in some}, change, made, result)
    return result


def rematch_turns(agent: Agent, *, since: int | None = None) -> int:
    """Look once more for the decisions and turns of writes that have none: they may have come. How many were found."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(turn_id=None)
    rows = rows.filter(origin__in=(Origin.RECORDED, Origin.IMPORTED, Origin.AGENT)).order_by("-created_at")
    rows = rows if since is None else rows.filter(created_at__gte=since)
    found = 0
    for row in rows.defer("diff", "hunks_json")[:AGAIN]:
        place = _found_by_now(agent, row)
        if place.turn_id and not consent.find_withheld_keys(agent.db, [place.turn_id]):
            WriteGuardianAudit.objects.using(agent.db).filter(id=row.id, turn_id=None).update(**place.columns)
            found += 1
    return found


def _found_by_now(agent, row):
    decisions = MemoryGateDecision.objects.using(agent.db).defer("raw_response")
    decision = decisions.filter(id=row.decision_id).first() if row.decision_id else None
    if decision is None:
        at, target = row.created_at, row.target_file
        decision = write_provenance.find_decision(agent.db, fact=row.candidate_fact, at=at, target_file=target)
    if decision and decision.turn_id:
        return replace(write_provenance.from_decision(decision), session_key=row.session_key or decision.session_key)
    place = write_provenance.match_by_time(agent, [row.session_key, row.session_id], row.created_at)
    return replace(place, decision_id=decision.id if decision else row.decision_id)


def _told_of(agent, found, source, bits, result):
    """The writes to store, each with whether it is new, and the known ones of which something is told besides."""
    known = write_store.find_known_ids(agent.db, [one.id for one in found], source)
    result.known += len(known)
    told: dict[str, tuple[Report, bool]] = {}
    for one in found:
        if one.id in told or (one.id in known and not _has_more(one)):
            continue
        place = _place(agent, one)
        if consent.find_withheld_keys(agent.db, [place.turn_id]):
            result.withheld += 1
            continue
        row = _told(one, place, source)
        row.row.sources = bits
        told[one.id] = (row, one.id not in known)
    return told


def _has_more(one):
    """Whether anything is told of a write besides itself."""
    return one.status == Status.ROLLED_BACK or bool(one.rollback or one.corrections)


def _store_some(db, told, found, change, made, result):
    ids: dict[str, str] = {}
    for some in _with_changes([row for row, is_new in told.values() if is_new], found, change, result):
        stored = _stored(db, some, made, result)
        result.writes += len(stored.new)
        result.merged += len(stored.merged)
        result.unattributed += stored.unattributed
        ids |= stored.ids
    more = [found[name] for name in told if _has_more(found[name])]
    pairs = [(row_id, one) for one in more if (row_id := ids.get(one.id) or write_store.find_row_id(db, one.id))]
    for row_id, one in pairs:
        if one.status == Status.ROLLED_BACK or one.rollback:
            result.rollbacks += _guarded(partial(_take_back, db, row_id, one), one, result)
    result.corrections += _correct_all(db, pairs, result)


def _with_changes(fresh, wanted, change, result):
    """The same in lists, with what files held: no more of that than HELD bytes and one write at once."""
    some: list[Report] = []
    held: dict[int, int] = {}  # bytes of each content, by its identity: writes share them
    for one in fresh:
        one.change = _change(wanted[one.key], change, result) if change else None
        some.append(one)
        sides = (one.change.before, one.change.after) if one.change else ()
        held |= {id(side): len(side) for side in sides if side}
        if sum(held.values()) > HELD:
            yield some
            for stored in some:
                stored.change = None
            some, held = [], {}
    yield some


def _stored(db, told, made, result) -> StoreResult:
    try:
        return write_store.store_reports(db, told, made)
    except Conflict as exc:
        taken = {reason["id"] for reason in exc.reasons}
        result.refused += [(name, "another write has this id") for name in sorted(taken)]
        return _stored(db, [one for one in told if one.key not in taken], made, result)


def _change(one, change, result):
    try:
        found = change(one) if one.snapshots else None
        if found and max(len(side or b"") for side in (found.before, found.after)) > MOST_BYTES:
            raise DamagedDatabase("a version of more than 5 MB")
        return found
    except DamagedDatabase as exc:
        result.refused.append((one.id, str(exc)))
        return None


def _place(agent, one):
    """By the decision or turn that it names, where those are ours; else by fact, else by key and time."""
    decisions = MemoryGateDecision.objects.using(agent.db).defer("raw_response")
    decision = decisions.filter(id=one.decision_id).first() if one.decision_id else None
    if decision is None:
        about = {"fact": one.fact, "at": one.at, "kind": one.kind, "target_file": one.target_file}
        decision = write_provenance.find_decision(agent.db, **about)
    decision_id = decision.id if decision else one.decision_id
    turn = ConversationTurn.objects.using(agent.db).filter(id=one.turn_id).first() if one.turn_id else None
    if turn:
        return write_provenance.from_turn(turn, one.session_key, decision_id)
    if decision and (decision.turn_id or not one.session_key):
        place = write_provenance.from_decision(decision)
        return replace(place, session_key=one.session_key or place.session_key)
    return replace(
        write_provenance.match_by_time(agent, [one.original_key, one.session_key], one.at), decision_id=decision_id
    )


def _told(one, place, source):
    row = WriteGuardianAudit(
        id=one.id,
        target_file=one.target_file,
        candidate_fact=one.fact,
        status=Status.WRITTEN if one.status == Status.ROLLED_BACK else one.status,  # a rollback says so afterwards
        reason=one.reason,
        llm_model=one.model,
        llm_latency_ms=one.latency_ms,
        agent_steps=one.agent_steps,
        created_at=one.at,
        origin=Origin.IMPORTED,
        **place.columns,
    )
    return Report(row=row, source=source, told_by=BY)


def _guarded(store, one, result):
    """What `store` comes to; nothing where it contradicts what is stored: the rest of the import goes on."""
    try:
        return store()
    except (Conflict, IntegrityError):
        result.refused.append((one.id, CONTRADICTS))
        return 0


def _take_back(db, row_id, one):
    with write_queue.agent_transaction(db):
        row = WriteGuardianAudit.objects.using(db).filter(id=row_id, status=Status.WRITTEN).first()
        if row is None:
            return 0
        told = one.rollback
        at, by, reason = (told.at, told.by, told.reason) if told else (one.at, "", "")
        taken = Rollback.objects.using(db)
        wanted = [told.id] if told else []
        rollback_id = _free([*wanted, f"{row_id}@rollback"], lambda name: taken.filter(id=name).exists())
        Rollback.objects.using(db).create(
            id=rollback_id,
            audit=row,
            own_audit_id=_own_write(db, row, rollback_id, told) if told else None,
            rolled_back_at=at,
            rolled_back_by=_who(by),
            reason=reason,
            restored_snapshot_id=row.before_snapshot_id,
            previous_status=row.status,
        )
        WriteGuardianAudit.objects.using(db).filter(id=row_id).update(status=Status.ROLLED_BACK)
        said = {"given_by": _who(by), "reason": reason, "created_at": at}
        GuardianStatus.objects.using(db).create(audit=row, status=Status.ROLLED_BACK, **said)
    return 1


def _own_write(db, row, rollback_id, told):
    """A rollback changed the file as well: it is a write of its own, which gives back what was there."""
    own = WriteGuardianAudit(
        id=_free([f"{rollback_id}@write"], lambda name: write_store.find_row_id(db, name)),
        decision_id=row.decision_id,
        turn_id=row.turn_id,
        session_id=row.session_id,
        session_key=row.session_key,
        match=row.match,
        target_file=row.target_file,
        status=Status.WRITTEN,
        reason=told.reason,
        origin=Origin.ROLLBACK,
        created_at=max(told.at, row.created_at + 1),
    )
    change = None
    if not row.sources & Source.FILES and (row.before_snapshot or row.after_snapshot):
        with suppress(DamagedVersion):
            sides = (read_version_bytes(one) if one else None for one in (row.after_snapshot, row.before_snapshot))
            change = FileChange(*sides)
    return write_store.store_reports(db, [Report(own, Source.DATABASE, change, told_by=_who(told.by))]).ids[own.id]


def _free(wanted, is_taken):
    """The first of these ids that nothing has; else the last of them with the first number that makes it free."""
    numbered = (f"{wanted[-1]}-{number}" for number in count(2))
    return next(name for name in chain(wanted, numbered) if not is_taken(name))


def _correct_all(db, pairs, result):
    """Store the corrections of these writes in one transaction, each once; how many are new."""
    if not any(one.corrections for _row_id, one in pairs):
        return 0
    try:
        return _insert_corrections(db, [(row_id, said) for row_id, one in pairs for said in one.corrections])
    except IntegrityError:  # one of them contradicts what is stored, and the others count
        single = [[(row_id, said) for said in one.corrections] for row_id, one in pairs]
        return sum(
            _guarded(partial(_insert_corrections, db, some), one, result)
            for some, (_row_id, one) in zip(single, pairs, strict=True)
        )


def _insert_corrections(db, said):
    with write_queue.agent_transaction(db):
        rows = {told.id: _correction(row_id, told) for row_id, told in reversed(said)}
        known = set(BehaviorCorrection.objects.using(db).filter(id__in=rows).values_list("id", flat=True))
        BehaviorCorrection.objects.using(db).bulk_create([row for id_, row in rows.items() if id_ not in known])
        return len(rows) - len(known)


def _correction(row_id, told):
    """A correction. A rule of others does not act here until somebody switches it on."""
    names = ("status", "candidate_fact", "target_file")
    columns = {f"original_{name}": value for name, value in zip(names, told.original, strict=True)}
    columns |= {f"corrected_{name}": value for name, value in zip(names, told.corrected, strict=True)}
    is_rule = told.pattern is not None
    at = min(told.at, now_ms())  # nobody has the last word ahead of time
    columns |= {"switched_off_at": at, "switched_off_by": IMPORT} if is_rule else {}
    return BehaviorCorrection(
        id=told.id,
        audit_id=row_id,
        correction_reason=told.reason,
        apply_to_future=is_rule,
        correction_pattern=told.pattern,
        corrected_by=_who(told.by),
        corrected_at=at,
        imported_from=SOURCE,
        **columns,
    )


def _who(name):
    return f"{SOURCE}: {name}" if name else BY
