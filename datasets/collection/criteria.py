"""The fifteen criteria of the Reflection spec (REQ-004 `DatasetCollectionStrategy`), each one declaration.

Unknown is an answer of its own, and never counts as yes. People's objections and later requests are read from rows
only (rollbacks, corrections, verdicts, later writes), never from words: lists of words were right too rarely.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gate.models import MemoryGateDecision
from guardian.models import BehaviorCorrection, Rollback, WriteGuardianAudit
from guardian.recording.reports import CHANGED

YES, NO, UNKNOWN = "yes", "no", "unknown"
POSITIVE, NEGATIVE, REVIEW, AUTO = GROUPS = (
    "positiveCriteria",
    "negativeCriteria",
    "manualReviewCriteria",
    "autoApproveCriteria",
)
AGREEMENT = 0.7  # share of replays with the same decision, below which the gate hesitates
# Facts beside the criteria, as bits of `yes`.
DECISION, WRITE, USABLE = 1 << 15, 1 << 16, 1 << 17


class Answer(NamedTuple):
    """The answer of a criterion, with kind and id of the row that gave it."""

    value: str = UNKNOWN
    kind: str = ""
    source_id: str = ""


@dataclass(slots=True)
class TurnEvidence:
    """Everything the criteria read about one turn: the rows of `turn_evidence.read_evidence`."""

    turn: Any
    decision: MemoryGateDecision | None = None
    write: WriteGuardianAudit | None = None
    rollback: Rollback | None = None  # in force
    correction: BehaviorCorrection | None = None  # the one that stands
    later_write_id: str = ""  # a write with the same fact, after this one was refused
    agreement: float | None = None  # share of replays that decided the same
    replay_id: str = ""
    repaired_call_id: str = ""  # the call that decided after an answer that was no decision
    has_findings: bool | None = None  # None: not scanned yet
    score: float | None = None
    samples: list[Any] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        return self.turn.session_id

    @property
    def is_corrected(self) -> bool:
        """Whether the correction says that the decision was wrong: its fact, its file, or writing at all."""
        row = self.correction
        if row is None:
            return False
        if row.corrected_status != WriteGuardianAudit.Status.WRITTEN:
            return row.original_status in CHANGED
        original = row.original_candidate_fact, row.original_target_file
        corrected = row.corrected_candidate_fact, row.corrected_target_file
        return any(new is not None and new != old for old, new in zip(original, corrected, strict=True))


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: its name in the spec, its question, its group, and the function that answers.

    `bit` is its place in the columns `yes` and `unknown` of `turn_outcomes`. Answers of another `version` of the
    function are other answers.
    """

    name: str
    question: Promise
    group: str
    bit: int
    answer: Callable[[TurnEvidence], Answer]
    version: int = 1


def _was_written(evidence):
    if (write := evidence.write) is not None:
        return Answer(YES if write.status in CHANGED else NO, "write", write.id)
    if evidence.decision is not None and evidence.decision.decision == "NO_WRITE":
        return Answer(NO, "decision", evidence.decision.id)
    return Answer()


def _no_objection(evidence):
    if (answer := _was_corrected(evidence)).value == YES:
        return answer._replace(value=NO)
    decision, row = evidence.decision, evidence.correction
    if decision is not None and decision.verdict:
        return Answer(YES if decision.verdict == "right" else NO, "decision", decision.id)
    return Answer(YES, "correction", row.id) if row else Answer()


def _not_rolled_back(evidence):
    """Yes as long as the write stands; `classification.apply_thresholds` adds the days."""
    if evidence.rollback is not None:
        return Answer(NO, "rollback", evidence.rollback.id)
    write = evidence.write
    return Answer(YES, "write", write.id) if write is not None and write.status in CHANGED else Answer()


def _has_score(evidence):
    """Yes with a score; `classification.apply_thresholds` compares it."""
    return Answer(YES, "score", f"{evidence.score:.3f}") if evidence.score is not None else Answer()


def _gate_proposed(evidence):
    decision = evidence.decision
    if decision is None:
        return Answer()
    return Answer(NO if decision.decision == "NO_WRITE" else YES, "decision", decision.id)


def _guardian_refused(evidence):
    write, row = evidence.write, evidence.correction
    if write is None:
        return Answer()
    if row is not None and row.corrected_status == WriteGuardianAudit.Status.WRITTEN:
        return Answer(NO, "correction", row.id)  # a person said that the fact belongs into the file
    return Answer(YES if write.status == WriteGuardianAudit.Status.REFUSED else NO, "write", write.id)


def _requested_later(evidence):
    if evidence.later_write_id:
        return Answer(YES, "write", evidence.later_write_id)
    write = evidence.write
    return Answer(NO, "write", write.id) if write is not None and write.status in CHANGED else Answer()


def _was_corrected(evidence):
    if evidence.is_corrected:
        return Answer(YES, "correction", evidence.correction.id)
    if evidence.rollback is not None:
        return Answer(YES, "rollback", evidence.rollback.id)
    decision = evidence.decision
    if decision is not None and decision.verdict == "wrong":
        return Answer(YES, "decision", decision.id)
    write = evidence.write
    return Answer(NO, "write", write.id) if write is not None else Answer(NO if decision is not None else UNKNOWN)


def _low_confidence(evidence):
    if evidence.agreement is not None:
        return Answer(YES if evidence.agreement < AGREEMENT else NO, "replay", evidence.replay_id)
    return Answer(YES, "call", evidence.repaired_call_id) if evidence.repaired_call_id else Answer()


def _sensitive(evidence):
    if evidence.has_findings is None:
        return Answer()
    return Answer(YES if evidence.has_findings else NO, "findings", evidence.session_id)


def _feedback(evidence):
    decision = evidence.decision
    rows = (("rollback", evidence.rollback), ("correction", evidence.correction))
    rows = (*rows, ("decision", decision if decision is not None and decision.verdict else None))
    return next((Answer(YES, kind, row.id) for kind, row in rows if row is not None), Answer())


def _confirmed_correction(evidence):
    if evidence.rollback is not None and evidence.is_corrected:
        return Answer(YES, "correction", evidence.correction.id)
    write = evidence.write
    return Answer(NO, "write", write.id) if write is not None else Answer()


def _matches_pattern(evidence):
    """Known once the sample exists: `sample_creation` compares its words."""
    return Answer()


_DECLARED = (
    ("wasWritten", _("Did write_guardian write the fact?"), POSITIVE, _was_written),
    ("noUserObjection", _("Did people leave it as it was, and say so?"), POSITIVE, _no_objection),
    ("notRolledBackWithinDays", _("Is the write in the file after these days?"), POSITIVE, _not_rolled_back),
    ("minQualityScore", _("Does the score reach the least score?"), POSITIVE, _has_score),
    ("gateProposedWrite", _("Did memory_gate propose a write?"), NEGATIVE, _gate_proposed),
    ("guardianRefused", _("Did write_guardian refuse it?"), NEGATIVE, _guardian_refused),
    ("userLaterRequestedSimilar", _("Was the same fact written later?"), NEGATIVE, _requested_later),
    ("hasBehaviorCorrection", _("Did a person correct it or roll it back?"), NEGATIVE, _was_corrected),
    ("lowConfidence", _("Did the gate hesitate?"), REVIEW, _low_confidence),
    ("containsSensitiveInfo", _("Does the turn have personal data or secrets?"), REVIEW, _sensitive),
    ("userFeedbackReceived", _("Did a person say something about it?"), REVIEW, _feedback),
    ("mediumQualityScore", _("Is the score between medium and the least score?"), REVIEW, _has_score),
    ("hasConfirmedCorrection", _("Was it rolled back and corrected?"), AUTO, _confirmed_correction),
    ("highQualityScore", _("Is the score high?"), AUTO, _has_score),
    ("matchesApprovedPattern", _("Did a person approve a sample with the same words?"), AUTO, _matches_pattern),
)
CRITERIA = tuple(
    Criterion(name, question, group, 1 << place, answer)
    for place, (name, question, group, answer) in enumerate(_DECLARED)
)
BITS = {criterion.name: criterion.bit for criterion in CRITERIA}


def read_bits(row: Any) -> dict[str, str]:
    """The answers in the columns `yes` and `unknown` of a row, by criterion; none of a turn that can be no sample."""
    if not row.yes & USABLE:
        return {}
    bits = ((criterion.name, row.yes & criterion.bit, row.unknown & criterion.bit) for criterion in CRITERIA)
    return {name: YES if yes else UNKNOWN if unknown else NO for name, yes, unknown in bits}


@dataclass(slots=True)
class Answers:
    """The answers about one turn as bits, with the row behind each by the name of its criterion."""

    yes: int
    unknown: int
    sources: dict[str, Answer]


def answer_all(evidence: TurnEvidence) -> Answers:
    """Ask every criterion about a turn that can be a sample."""
    yes, unknown, sources = USABLE, 0, {}
    yes |= (DECISION if evidence.decision is not None else 0) | (WRITE if evidence.write is not None else 0)
    for criterion in CRITERIA:
        answer = criterion.answer(evidence)
        sources[criterion.name] = answer
        yes |= criterion.bit if answer.value == YES else 0
        unknown |= criterion.bit if answer.value == UNKNOWN else 0
    return Answers(yes, unknown, sources)
