"""Creates the samples of classified turns through the kinds of samples, and stores their evidence.

Samples that people judged, or created by hand, are never changed.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Q

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, statements, write_queue

from .. import services
from ..dedup import signatures
from ..finding_values import sample_privacy
from ..kinds import decision as decisions
from ..kinds import kind as kinds
from ..kinds import sample_store
from ..kinds import turn as turns
from ..kinds import write as writes
from ..models import DatasetSample, SampleClaim, SampleSignature, TurnOutcome
from ..quality import scores
from ..review import parts
from ..review.parts import PartVerdict
from ..sample_texts import GATE_TYPES
from ..spot_checks import checks
from .classification import Place, Status, Type
from .criteria import BITS, CRITERIA, NO, UNKNOWN, YES, Answer, Answers, TurnEvidence

BY_RULE = "rule"  # `annotated_by` of samples that a rule approved
POSITIVE, NEGATIVE, OPEN = "auto_positive", "auto_negative", "auto_review"
STRATEGIES = {Type.MEMORY_GATE_POSITIVE: POSITIVE, Type.MEMORY_GATE_NEGATIVE: NEGATIVE}  # of others: OPEN
WRITTEN_LATER, REFUSED_BY_GUARDIAN = "The same fact was written later.", "write_guardian refused the fact."
NO_REASON_GIVEN = "A person took it back and gave no reason."
STORE_EVIDENCE = f"""{dialect.INSERT_OR_REPLACE} INTO sample_evidence
(sample_id, criterion, answer, source_kind, source_id, rule) VALUES (%s, %s, %s, %s, %s, %s)"""
SHAPE = (
    *("sample_type", "content", "gate_label", "gate_corrected_output"),
    *("privacy_checked", "contains_pii", "pii_redacted_content"),
)
Outcome, NEEDS_REVIEW = TurnOutcome.Outcome, Status.NEEDS_REVIEW


@dataclass(slots=True)
class Candidate:
    """A turn with its evidence, the answers of the criteria after thresholds, and its place.

    `base` has the bits of yes and unknown before thresholds, which `turn_outcomes` holds.
    """

    evidence: TurnEvidence
    answers: Answers
    place: Place
    base: tuple[int, int]
    outcome: int = Outcome.CANDIDATE
    sample_id: str = ""


def find_own_sample(candidate: Candidate) -> DatasetSample | None:
    """The sample of a turn that collecting created and nobody judged."""
    own = (sample for sample in candidate.evidence.samples if is_by_rule(sample))
    return next(own, None)


def is_by_rule(sample: DatasetSample) -> bool:
    return sample.label_id is None and (sample.collection_strategy or "").startswith("auto_")


def create_samples(agent: Agent, candidates: list[Candidate], *, by: str) -> None:
    """Create the samples of these candidates, and set their outcomes."""
    by_status: dict[str, dict[str, Candidate]] = defaultdict(dict)
    for candidate in candidates:
        if candidate.place.sample_type == Type.ANNOTATED_TURN:
            by_status[candidate.place.status][candidate.evidence.turn.id] = candidate
        else:
            _create_own(agent, candidate)
    for status, group in by_status.items():
        result = services.CreationResult(services.CREATED, services.TURNS_SKIPPED, room=inf)
        excluded = services.make_of_turns(agent, list(group), result, by=by, status=status, strategy=OPEN)
        stored = {*result.made, *result.existing}
        for turn_id, candidate in group.items():
            candidate.sample_id = turns.compute_sample_id(agent.agent_id, turn_id)
            other = Outcome.EXCLUDED if turn_id in excluded else Outcome.UNUSABLE
            candidate.outcome = Outcome.SAMPLE if candidate.sample_id in stored else other


def _create_own(agent, candidate):
    """Create the sample of a decision or a write."""
    evidence, place = candidate.evidence, candidate.place
    try:
        if place.sample_type == Type.WRITE_GUARDIAN_DECISION:
            write = writes.find(agent, evidence.write.id)
            subject = writes.read_subject(agent, write)
            sample = sample_store.build_sample(writes.WRITE, agent, write.id, subject, status=place.status)
        else:
            sample = _build_gate_sample(agent, candidate)
        sample.collection_strategy = STRATEGIES.get(place.sample_type, OPEN)
        sample_store.add_sample(agent, sample)
    except Refused:
        candidate.outcome = Outcome.UNUSABLE
    else:
        candidate.outcome, candidate.sample_id = Outcome.SAMPLE, sample.id


def _build_gate_sample(agent, candidate):
    """The sample of a decision; a wrong one comes with what would have been right, for a reviewer to confirm."""
    decision, place = candidate.evidence.decision, candidate.place
    subject = decisions.read_subject(agent, decision)
    verdict = kinds.WRONG if place.is_negative else kinds.NONE
    sample = sample_store.build_sample(
        decisions.DECISION, agent, decision.id, subject, verdict=verdict, is_checked=False
    )
    sample.annotation_status = place.status
    if place.is_negative:
        right = PartVerdict(parts.CORRECTED, _find_right_output(candidate.evidence))
        sample.gate_label, sample.gate_corrected_output = right.label, right.corrected_json
        sample.sample_type, sample.content = decisions.apply_verdict(sample.body, right)
    scores.set_columns([sample])
    sample_privacy.set_columns([sample])
    return sample


def _find_right_output(evidence):
    """The decision that would have been right, and why."""
    correction, write = evidence.correction, evidence.write
    if evidence.is_corrected and correction.corrected_status == "written":
        fact = correction.corrected_candidate_fact or correction.original_candidate_fact or ""
        file = correction.corrected_target_file or correction.original_target_file or ""
        return _build_update(file, fact, correction.correction_reason)
    if evidence.is_corrected or evidence.rollback is not None:
        reason = correction.correction_reason if evidence.is_corrected else evidence.rollback.reason
        return {"decision": "NO_WRITE", "candidateFact": "", "reason": reason.strip() or NO_REASON_GIVEN}
    if evidence.later_write_id:
        return _build_update(write.target_file, write.candidate_fact, WRITTEN_LATER)
    reason = (write.reason or "").strip() if write else ""
    return {"decision": "NO_WRITE", "candidateFact": "", "reason": reason or REFUSED_BY_GUARDIAN}


def _build_update(file, fact, reason):
    decision = f"UPDATE_{file.removesuffix('.md').upper()}"
    decision = decision if decision in parts.DECISIONS else "UPDATE_MEMORY"
    return {"decision": decision, "candidateFact": fact, "reason": reason.strip() or NO_REASON_GIVEN}


def revise_sample(agent: Agent, candidate: Candidate, sample: DatasetSample) -> None:
    """Follow new evidence in a sample that collecting created, as long as nobody judges it.

    A decision's own sample takes the new type, and needs review. So does a turn's sample whose decision was wrong.
    """
    place, columns = candidate.place, {}
    if sample.sample_type in GATE_TYPES and place.sample_type in GATE_TYPES and sample.sample_type != place.sample_type:
        new = _build_gate_sample(agent, candidate)
        columns = {name: getattr(new, name) for name in SHAPE}
        columns["collection_strategy"] = STRATEGIES[place.sample_type]
    elif not place.is_negative or sample.sample_type != Type.ANNOTATED_TURN or sample.annotation_status == NEEDS_REVIEW:
        return
    with write_queue.global_transaction():
        SampleClaim.objects.filter(sample_id=sample.id).delete()  # nobody's verdict on the sample as it was counts
        rows = DatasetSample.objects.filter(id=sample.id, label_id=None)
        rows.update(**columns, annotation_status=NEEDS_REVIEW, annotated_by=None, annotated_at=None)
    signatures.ensure_signature(DatasetSample.objects.get(id=sample.id))


def compare_with_approved(candidates: Iterable[Candidate]) -> None:
    """Answer `matchesApprovedPattern`: whether a person approved a sample with the same words."""
    by_sample = {candidate.sample_id: candidate for candidate in candidates if candidate.sample_id}
    words = dict(SampleSignature.objects.filter(sample__in=list(by_sample)).values_list("sample_id", "words"))
    approved = SampleSignature.objects.filter(
        words__in=set(words.values()), sample__annotation_status=Status.APPROVED, sample__label_id__isnull=False
    ).exclude(sample__in=list(by_sample))
    matches = dict(approved.values_list("words", "sample_id")) if words else {}
    bit = BITS["matchesApprovedPattern"]
    for sample_id, hashed in words.items():
        answers, match = by_sample[sample_id].answers, matches.get(hashed, "")
        answers.unknown &= ~bit
        answers.yes |= bit if match else 0
        answers.sources["matchesApprovedPattern"] = Answer(YES if match else NO, "sample" if match else "", match)


def approve_by_rule(candidates: Iterable[Candidate]) -> int:
    """Approve samples whose place says so, and that people do not check; the only place where a rule approves.

    Returns their number. A sample that was sent back to review is not approved again.
    """
    rows = {candidate.sample_id: candidate for candidate in candidates if candidate.place.is_clear}
    samples = DatasetSample.objects.filter(
        Q(annotation_status=Status.PENDING) | Q(sample_type=Type.MEMORY_GATE_NEGATIVE), id__in=rows, label_id=None
    ).exclude(annotated_by=BY_RULE)
    right = Q(sample_type=Type.MEMORY_GATE_POSITIVE)
    with transaction.atomic():
        samples = samples.filter(id__in=checks.choose_approved(list(samples.only("id", *checks.SHAPE))))
        samples.filter(right).update(gate_label=parts.CORRECT)
        return samples.update(annotation_status=Status.AUTO_APPROVED, annotated_by=BY_RULE, annotated_at=clock.now_ms())


def store_evidence(candidates: Iterable[Candidate]) -> None:
    """Store the answer of each criterion about these samples, in the caller's transaction."""
    rows = [
        (candidate.sample_id, criterion.name, *read_answer(candidate.answers, criterion), criterion.version)
        for candidate in candidates
        for criterion in CRITERIA
    ]
    statements.run_many(DEFAULT_DB_ALIAS, STORE_EVIDENCE, rows)


def read_answer(answers: Answers, criterion: Any) -> tuple[str, str, str]:
    """The answer after thresholds, with its source."""
    source = answers.sources[criterion.name]
    value = YES if answers.yes & criterion.bit else UNKNOWN if answers.unknown & criterion.bit else NO
    return value, source.kind, source.source_id
