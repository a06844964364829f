"""Every write of decisions: told once or often, by whom ever, each event is one row and counted once."""

import hashlib
from collections.abc import Sequence

from artifacts import services as artifacts
from ledger import consent
from ledger.models import ConversationTurn
from ledger.transcripts import contexts
from openclaw_web.sqlite import write_queue
from people.configuration import setting_values as configuration

from ..models import GateCall, GateReceipt, MemoryGateDecision
from ..statistics import sums
from . import sql, windows
from .dedup import Conflict, find_duplicates, merge_report
from .reports import Report, StoreResult
from .turn_matching import TurnMatch

RAW_SETTING = "memoryGateAuditing.storeRawLLMResponse"
MOST_RAW = 64_000  # bytes of a response in its row; a longer one is an artifact
RESPONSE = "gate_response"  # the kind of such an artifact


def store_reports(db: str, told: Sequence[Report]) -> StoreResult:
    """Store decisions: all, or with a Conflict none. Those that are known already stay as they are.

    Told again under the same id with the same words, it is the same decision; one that another source told within two
    seconds of it, in the same session and words, as well: it then takes from each what the others do not know.
    """
    _forget_windows(db, told)
    _keep_responses(db, told)
    stored = StoreResult()
    with write_queue.agent_transaction(db):
        fresh = _fresh(db, told, stored)
        twins = find_duplicates(db, fresh)
        changes = sums.SumChanges()
        new = []
        for one in fresh:
            if twin := twins.get(one.key):
                changes.add(twin, -1)
                merge_report(twin, one)
                changes.add(twin)
                stored.known.append(twin.id)
                stored.merged.append(twin.id)
                stored.ids[one.key] = twin.id
            else:
                new.append(one)
        _see_windows(db, new)
        _insert(db, new, stored)
        for one in new:
            changes.add(one.row)
        _save_merged(db, fresh, twins)
        _write_receipts(db, fresh, stored)
        if fresh:
            sums.apply_changes(db, changes)
    return stored


def store_calls(db: str, calls: Sequence[GateCall]) -> int:
    """Store calls that failed, each once; how many are new."""
    with write_queue.agent_transaction(db):
        known = set(GateCall.objects.using(db).filter(id__in=[call.id for call in calls]).values_list("id", flat=True))
        new = [call for call in calls if call.id not in known]
        for call in new:
            call.raw_response = store_response(db, call.raw_response, call.session_id, call.turn_id)
        GateCall.objects.using(db).bulk_create(new)
        changes = sums.SumChanges()
        for call in new:
            changes.add_failed(call)
        if new:
            sums.apply_changes(db, changes)
    return len(new)


def add_facts(db: str, facts: dict[str, str]) -> None:
    """Add the facts of decisions that were stored without: the plugin writes them down later, elsewhere."""
    rows = MemoryGateDecision.objects.using(db).filter(id__in=facts, candidate_fact=None)
    for row in rows.only("id"):
        MemoryGateDecision.objects.using(db).filter(id=row.id).update(candidate_fact=facts[row.id])


def assign_turn(db: str, decision_id: str, place: TurnMatch) -> None:
    """Say which turn a decision belongs to, that had none; what it adds up to moves to the turn's session."""
    with write_queue.agent_transaction(db):
        row = MemoryGateDecision.objects.using(db).filter(id=decision_id, turn_id=None).first()
        if row is None:
            return
        changes = sums.SumChanges()
        changes.add(row, -1)
        row.turn_id, row.session_id, row.match = place.turn_id, place.session_id, place.match
        changes.add(row)
        one = Report(row=row, source=MemoryGateDecision.Source.LOG, window=windows.read_window(db, row.window_hash))
        _see_windows(db, [one])
        if one.is_window_derived and one.window:
            windows.store_windows(db, [one.window])
            row.window_hash, row.is_window_derived = one.window.hash, True
        row.save(using=db)
        sums.apply_changes(db, changes)


def store_response(db: str, text: str | None, session_id: str, turn_id: str | None) -> str | None:
    """What is kept of a raw response: itself, or the handle of an artifact, or by the setting nothing."""
    if text is None or not configuration.is_on(RAW_SETTING):
        return None
    return _short(db, text, session_id, turn_id)


def _forget_windows(db, told):
    """Take away what a gate was given where it is withheld: what is derived instead is of turns that are stored."""
    named = [(one.row, one.window) for one in told if one.window and one.source != MemoryGateDecision.Source.OWN]
    hidden = windows.find_withheld_windows(db, named)
    for one in told:
        if one.key in hidden:
            one.window = None


def _keep_responses(db, told):
    """Give each decision what is kept of its response. Of what is refused or known no artifact is made."""
    if not configuration.is_on(RAW_SETTING):
        for one in told:
            one.row.raw_response = None
    elif any(_is_long(one.row.raw_response) for one in told):
        fresh = _fresh(db, told, StoreResult())
        find_duplicates(db, fresh)  # raises Conflict
        for row in (one.row for one in fresh if one.row.raw_response):
            row.raw_response = _short(db, row.raw_response, row.session_id, row.turn_id)


def _is_long(text):
    return text is not None and len(text.encode(errors="replace")) > MOST_RAW


def _short(db, text, session_id, turn_id):
    """A response, or the handle of the artifact that holds it."""
    if not _is_long(text):
        return text
    # No place: it belongs to the decision, and stays when the session is removed.
    meta = {"session_id": session_id, "turn_id": turn_id}
    row, _stored = artifacts.stash(db, text.encode(errors="replace"), kind=RESPONSE, meta=meta)
    return row.handle


def _fresh(db, told, stored):
    """Those that nobody told under their id before. Raises Conflict for an id that means something else."""
    ids = {one.key for one in told}
    receipts = sql.read_receipts(db, ids)
    rows = sql.find_stored_ids(db, ids)
    fresh: dict[str, Report] = {}
    clashes = []
    for one in told:
        before = receipts.get(one.key)
        if one.key in fresh:
            clashes += [one.key] if one.body_sha256 != fresh[one.key].body_sha256 else []
        elif before and before.body_sha256 != one.body_sha256 and one.body_sha256:
            clashes.append(one.key)
        elif before or (one.key in rows and not one.body_sha256):
            row_id = before.decision_id if before else one.key
            stored.known.append(row_id)
            stored.ids[one.key] = row_id
        else:
            fresh[one.key] = one
    if clashes:
        raise Conflict(clashes)
    return list(fresh.values())


def _save_merged(db, fresh, twins):
    windows.store_windows(db, [one.window for one in fresh if one.key in twins and one.window])
    for row in twins.values():
        row.save(using=db)


def _insert(db, new, stored):
    windows.store_windows(db, [one.window for one in new if one.window])
    for one in new:
        one.row.sources = one.source
        if one.window:
            one.row.window_hash, one.row.is_window_derived = one.window.hash, one.is_window_derived
        stored.new.append(one.key)
        stored.ids[one.key] = one.key
        stored.unmatched += one.row.turn_id is None
    sql.insert_rows(db, [one.row for one in new])


def _write_receipts(db, fresh, stored):
    receipts = [
        GateReceipt(id=one.key, decision_id=stored.ids[one.key], body_sha256=one.body_sha256)
        for one in fresh
        if one.body_sha256 or stored.ids[one.key] != one.key
    ]
    sql.insert_rows(db, receipts)


def _see_windows(db, new):
    """Keep the messages before each turn, as the spec's own SQL asks for them; they are the window nobody told of."""
    turns = ConversationTurn.objects.using(db).in_bulk([one.row.turn_id for one in new if one.row.turn_id])
    given = {one.row.turn_id: list(one.window.recent) for one in new if one.window and one.row.turn_id in turns}
    by_session: dict[str, list[ConversationTurn]] = {}
    for turn in turns.values():
        by_session.setdefault(turn.session_id, []).append(turn)
    size, kept = configuration.get_number(contexts.SETTING), {}
    for some in by_session.values():
        before = contexts.store_contexts(db, some, size, given=given)
        kept |= consent.filter_messages(db, before)
    for one in new:
        turn = turns.get(one.row.turn_id)
        if turn and not one.window:
            reply = turn.agent_message_content or None
            one.window = windows.Window(tuple(kept.get(turn.id, ())), turn.user_message_content, reply)
            one.is_window_derived = True


def hash_body(body: bytes) -> str:
    """The hash by which a body that is told again is known."""
    return hashlib.sha256(body).hexdigest()
