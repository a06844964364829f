"""Stores decisions and failed calls; several reports of one event become one row.

The sums of decisions change in the same transaction, so that each event is counted once.
"""

import hashlib
from collections.abc import Sequence

from artifacts import services as artifacts
from ledger import changed_rows, consent
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
MOST_RAW = 64_000  # bytes of a response in a row; a longer response is an artifact
RESPONSE = "gate_response"  # the kind of such an artifact


def store_reports(db: str, reports: Sequence[Report]) -> StoreResult:
    """Store reports of decisions: all of them, or none.

    Raises Conflict when an id belongs to another decision. A report with a known id and the same words is the same
    decision, and the stored row does not change. So is a report that another source made within two seconds, of the
    same session and words: the row then gets the columns that it does not have yet.
    """
    _forget_windows(db, reports)
    _keep_responses(db, reports)
    result = StoreResult()
    with write_queue.agent_transaction(db):
        fresh_reports = _find_fresh(db, reports, result)
        duplicates = find_duplicates(db, fresh_reports)
        places = [(row.created_at, row.session_id) for row in duplicates.values()]  # before they are merged
        new_reports = []
        for report in fresh_reports:
            if duplicate := duplicates.get(report.key):
                merge_report(duplicate, report)
                result.known.append(duplicate.id)
                result.merged.append(duplicate.id)
                result.ids[report.key] = duplicate.id
            else:
                new_reports.append(report)
        _derive_windows(db, new_reports)
        _insert(db, new_reports, result)
        merged = [report.window for report in fresh_reports if report.key in duplicates]
        windows.store_windows(db, [window for window in merged if window])
        for row in duplicates.values():
            row.save(using=db)
        changed_rows.note(db, "decision", [row.id for row in duplicates.values()])
        _write_receipts(db, fresh_reports, result)
        if fresh_reports:
            rows = [report.row for report in new_reports] + list(duplicates.values())
            sums.refresh(db, [*places, *((row.created_at, row.session_id) for row in rows)])
    return result


def store_calls(db: str, calls: Sequence[GateCall]) -> int:
    """Store calls that failed, each once, and return how many are new."""
    with write_queue.agent_transaction(db):
        known = set(GateCall.objects.using(db).filter(id__in=[call.id for call in calls]).values_list("id", flat=True))
        new = [call for call in calls if call.id not in known]
        for call in new:
            call.raw_response = store_response(db, call.raw_response, call.session_id, call.turn_id)
        GateCall.objects.using(db).bulk_create(new)
        if new:
            sums.refresh(db, [(call.created_at, call.session_id) for call in new])
    return len(new)


def add_facts(db: str, facts: dict[str, str]) -> None:
    """Add facts to decisions that were stored without one.

    The plugin writes facts down later, in another file. `facts` are texts by the id of a decision.
    """
    with write_queue.agent_transaction(db):
        rows = list(MemoryGateDecision.objects.using(db).filter(id__in=facts, candidate_fact=None).only("id"))
        for row in rows:
            row.candidate_fact = facts[row.id]
        MemoryGateDecision.objects.using(db).bulk_update(rows, ["candidate_fact"], batch_size=500)
        changed_rows.note(db, "decision", [row.id for row in rows])


def assign_turn(db: str, decision_id: str, match: TurnMatch) -> None:
    """Assign a turn to a decision that had none, or another one.

    Its numbers move to the sums of the turn's session.
    """
    with write_queue.agent_transaction(db):
        row = MemoryGateDecision.objects.using(db).filter(id=decision_id).first()
        if row is None:
            return
        session_id = row.session_id
        row.turn_id, row.session_id, row.match = match.turn_id, match.session_id, match.match
        row.named_turn_id = None if match.match == MemoryGateDecision.Match.GIVEN else row.named_turn_id
        report = Report(row=row, source=MemoryGateDecision.Source.LOG, window=windows.read_window(db, row.window_hash))
        _derive_windows(db, [report])
        if report.is_window_derived and report.window:
            windows.store_windows(db, [report.window])
            row.window_hash, row.is_window_derived = report.window.hash, True
        row.save(using=db)
        changed_rows.note(db, "decision", [row.id])
        sums.refresh(db, [(row.created_at, session_id), (row.created_at, row.session_id)])


def store_response(db: str, text: str | None, session_id: str, turn_id: str | None) -> str | None:
    """Return the value for `raw_response`: the text, an artifact's handle, or None.

    None where the setting `memoryGateAuditing.storeRawLLMResponse` is off.
    """
    if text is None or not configuration.is_on(RAW_SETTING):
        return None
    return _stash_if_long(db, text, session_id, turn_id)


def _forget_windows(db, reports):
    """Remove the windows of reports whose messages are withheld.

    A window that is derived instead holds messages of stored turns only.
    """
    row_windows = [
        (report.row, report.window)
        for report in reports
        if report.window and report.source != MemoryGateDecision.Source.OWN
    ]
    hidden = windows.find_withheld_windows(db, row_windows)
    for report in reports:
        if report.key in hidden:
            report.window = None


def _keep_responses(db, reports):
    """Replace the raw responses of reports by the values to store.

    Rejected and known reports get no artifact.
    """
    if not configuration.is_on(RAW_SETTING):
        for report in reports:
            report.row.raw_response = None
    elif any(_is_long(report.row.raw_response) for report in reports):
        fresh_reports = _find_fresh(db, reports, StoreResult())
        find_duplicates(db, fresh_reports)  # raises Conflict
        for row in (report.row for report in fresh_reports if report.row.raw_response):
            row.raw_response = _stash_if_long(db, row.raw_response, row.session_id, row.turn_id)


def _is_long(text):
    return text is not None and len(text.encode(errors="replace")) > MOST_RAW


def _stash_if_long(db, text, session_id, turn_id):
    """Return a response, or the handle of the artifact that holds it."""
    if not _is_long(text):
        return text
    # Without a place: the artifact belongs to the decision, and is kept when the session is removed.
    meta = {"session_id": session_id, "turn_id": turn_id}
    row, _stored = artifacts.stash(db, text.encode(errors="replace"), kind=RESPONSE, meta=meta)
    return row.handle


def _find_fresh(db, reports, result):
    """Return the reports whose ids were not reported before.

    The others are added to `result` as known. Raises Conflict for an id that means another decision.
    """
    ids = {report.key for report in reports}
    receipts = sql.read_receipts(db, ids)
    rows = sql.find_stored_ids(db, ids)
    fresh_reports: dict[str, Report] = {}
    clashes = []
    for report in reports:
        receipt = receipts.get(report.key)
        if report.key in fresh_reports:
            clashes += [report.key] if report.body_sha256 != fresh_reports[report.key].body_sha256 else []
        elif receipt and receipt.body_sha256 != report.body_sha256 and report.body_sha256:
            clashes.append(report.key)
        elif receipt or (report.key in rows and not report.body_sha256):
            row_id = receipt.decision_id if receipt else report.key
            result.known.append(row_id)
            result.ids[report.key] = row_id
        else:
            fresh_reports[report.key] = report
    if clashes:
        raise Conflict(clashes)
    return list(fresh_reports.values())


def _insert(db, new_reports, result):
    windows.store_windows(db, [report.window for report in new_reports if report.window])
    for report in new_reports:
        report.row.sources = report.source
        if report.window:
            report.row.window_hash, report.row.is_window_derived = report.window.hash, report.is_window_derived
        result.new.append(report.key)
        result.ids[report.key] = report.key
        result.unmatched += report.row.turn_id is None
    sql.insert_rows(db, [report.row for report in new_reports])


def _write_receipts(db, fresh_reports, result):
    receipts = [
        GateReceipt(id=report.key, decision_id=result.ids[report.key], body_sha256=report.body_sha256)
        for report in fresh_reports
        if report.body_sha256 or result.ids[report.key] != report.key
    ]
    sql.insert_rows(db, receipts)


def _derive_windows(db, new_reports):
    """Store the messages before each turn, and give reports without a window a derived one.

    The messages are those that the spec's own SQL selects.
    """
    turns = ConversationTurn.objects.using(db).in_bulk(
        [report.row.turn_id for report in new_reports if report.row.turn_id]
    )
    given = {
        report.row.turn_id: list(report.window.recent)
        for report in new_reports
        if report.window and report.row.turn_id in turns
    }
    by_session: dict[str, list[ConversationTurn]] = {}
    for turn in turns.values():
        by_session.setdefault(turn.session_id, []).append(turn)
    size, usable = configuration.get_number(contexts.SETTING), {}
    for session_turns in by_session.values():
        before = contexts.store_contexts(db, session_turns, size, given=given)
        usable |= consent.filter_messages(db, before)
    for report in new_reports:
        turn = turns.get(report.row.turn_id)
        if turn and not report.window:
            reply = turn.agent_message_content or None
            report.window = windows.Window(tuple(usable.get(turn.id, ())), turn.user_message_content, reply)
            report.is_window_derived = True


def hash_body(body: bytes) -> str:
    """Return the SHA-256 of a request body, by which a repeated report is known."""
    return hashlib.sha256(body).hexdigest()
