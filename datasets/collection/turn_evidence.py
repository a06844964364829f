"""Reads what the criteria need about many turns of one agent, with the same number of queries for any number."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from django.apps import apps
from django.db.models import Q

from agents.models import Agent
from findings import finding_store
from findings.models import Finding, Source
from gate import decisions as gate
from gate.models import GateCall, GateReplay, GateReplayDecision
from guardian.corrections import correction_store
from guardian.detail import related_writes
from guardian.models import WriteGuardianAudit
from guardian.recording.reports import CHANGED
from ledger.models import ConversationTurn

from ..dedup.texts import split_words
from ..models import DatasetSample, FindingValue
from .criteria import TurnEvidence

REPLAYS = 20  # the newest of an agent that count
LATER_WRITES = 50  # to the same file after a refused one, that are compared with it
SAMPLE_COLUMNS = (
    *("id", "agent_id", "session_id", "turn_id", "decision_id", "audit_id", "sample_type", "annotation_status"),
    *("label_id", "annotated_by", "collection_strategy", "created_at", "quality_score"),
)
Status = WriteGuardianAudit.Status


def read_evidence(agent: Agent, turns: Collection[ConversationTurn]) -> dict[str, TurnEvidence]:
    """The evidence about each of these turns, by turn id."""
    rows = {turn.id: TurnEvidence(turn) for turn in turns}
    if not rows:
        return rows
    _add_decisions(agent.db, rows)
    _add_writes(agent.db, rows)
    _add_confidence(agent.db, rows)
    _add_findings(agent.db, rows)
    _add_samples(agent.agent_id, rows)
    scores = read_scores(agent.agent_id, rows)
    for turn_id, evidence in rows.items():
        known = [sample.quality_score for sample in evidence.samples if sample.quality_score is not None]
        evidence.score = scores.get(turn_id, known[0] if known else None)
    return rows


def read_scores(agent_id: str, turn_ids: Iterable[str]) -> dict[str, float]:
    """The quality scores of these turns; none where this site computes none."""
    try:
        model = apps.get_model("datasets", "TurnSignals")
    except LookupError:
        return {}
    rows = model.objects.filter(agent_id=agent_id, turn_id__in=list(turn_ids), score__isnull=False)
    return dict(rows.values_list("turn_id", "score"))


def _add_decisions(db, rows):
    for turn_id, decision in gate.find_by_turn(db, list(rows)).items():
        rows[turn_id].decision = decision


def _add_writes(db, rows):
    by_decision = {row.decision.id: turn_id for turn_id, row in rows.items() if row.decision}
    writes = WriteGuardianAudit.objects.using(db).exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)
    writes = writes.filter(Q(turn_id__in=list(rows)) | Q(decision_id__in=list(by_decision)))
    by_turn: dict[str, list[Any]] = defaultdict(list)
    for write in writes.only(*related_writes.BRIEF, "decision_id").order_by("-created_at", "-id"):
        # A write of a decision belongs to the decision's turn, whichever turn it names.
        turn_id = by_decision.get(write.decision_id) or write.turn_id
        if turn_id in rows:
            by_turn[turn_id].append(write)
    for turn_id, candidates in by_turn.items():
        decision = rows[turn_id].decision
        own = [write for write in candidates if decision and write.decision_id == decision.id]
        rows[turn_id].write = related_writes.sort_written_first(own or candidates)[0]
    chosen = {row.write.id: row for row in rows.values() if row.write is not None}
    chains = related_writes.read_chains(db, related_writes.get_rolled_back_ids(row.write for row in chosen.values()))
    for write_id, chain in chains.items():
        chosen[write_id].rollback = chain.steps[0] if chain.steps and not chain.standing else None
    if chosen:
        corrections = correction_store.find_active_corrections(db, audit__in=list(chosen))
        for write_id, correction in corrections.items():
            chosen[write_id].correction = correction
    for row in chosen.values():
        if row.write.status == Status.REFUSED and row.write.candidate_fact and row.write.target_file:
            row.later_write_id = _find_later_write(db, row.write)


def _find_later_write(db, refused):
    """The first later write of the same words to the same file; empty: none."""
    words = split_words(refused.candidate_fact, "")
    rows = WriteGuardianAudit.objects.using(db).filter(
        target_file=refused.target_file, created_at__gt=refused.created_at, status__in=CHANGED
    )
    rows = rows.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK).order_by("created_at")[:LATER_WRITES]
    for write_id, fact in rows.values_list("id", "candidate_fact"):
        if fact and split_words(fact, "") == words:
            return write_id
    return ""


def _add_confidence(db, rows):
    decided = {row.decision.id: row for row in rows.values() if row.decision}
    newest = GateReplay.objects.using(db).order_by("-created_at", "-id").values_list("id", flat=True)[:REPLAYS]
    replays = list(newest) if decided else []
    answers = defaultdict(list)
    if replays:
        outcomes = GateReplayDecision.objects.using(db).filter(replay__in=replays, decision_id__in=list(decided))
        outcomes = outcomes.filter(outcome=GateReplayDecision.Outcome.DECIDED)
        for decision_id, replay_id, is_same in outcomes.values_list("decision_id", "replay_id", "is_same"):
            answers[decision_id].append((bool(is_same), replay_id))
    for decision_id, replayed in answers.items():
        decided[decision_id].agreement = sum(is_same for is_same, _id in replayed) / len(replayed)
        decided[decision_id].replay_id = min(replayed)[1]
    if decided:
        calls = GateCall.objects.using(db).filter(decision_id__in=list(decided), attempt__gt=1)
        for decision_id, call_id in calls.values_list("decision_id", "id"):
            decided[decision_id].repaired_call_id = call_id


def _add_findings(db, rows):
    sessions = {row.session_id for row in rows.values()}
    positions = finding_store.read_positions(db, Source.RECORD, sessions)
    numbers = {row.turn.turn_number for row in rows.values()}
    places = Finding.objects.using(db).filter(session_id__in=sessions, turn_number__in=numbers)
    by_place = defaultdict(set)
    for session_id, number, value_hash in places.values_list("session_id", "turn_number", "value_hash").distinct():
        by_place[session_id, number].add(value_hash)
    values = {value_hash for hashes in by_place.values() for value_hash in hashes}
    dismissed = FindingValue.objects.filter(value_hash__in=values, state=FindingValue.State.DISMISSED) if values else ()
    dismissed_hashes = {value.value_hash for value in dismissed}
    for row in rows.values():
        if by_place.get((row.session_id, row.turn.turn_number), set()) - dismissed_hashes:
            row.has_findings = True
        elif (position := positions.get(row.session_id)) and position.place >= row.turn.last_seq:
            row.has_findings = False


def _add_samples(agent_id, rows):
    """Every sample in use of these turns, with that of the decision or write behind it."""
    sessions = {row.session_id for row in rows.values()}
    numbers = {row.turn.turn_number for row in rows.values()}
    samples = DatasetSample.objects.filter(agent_id=agent_id, annotation_status__isnull=False)
    samples = samples.filter(session_id__in=sessions, turn_number__in=numbers).only(*SAMPLE_COLUMNS)
    for sample in samples:
        if sample.turn_id in rows:
            rows[sample.turn_id].samples.append(sample)
