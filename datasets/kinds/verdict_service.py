"""Verdicts on decisions and writes: each creates a sample or changes its content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from openclaw_web.errors import Refused

from ..dedup import signatures
from ..finding_values import sample_privacy
from ..models import DatasetSample
from ..review import parts, verdicts
from . import sample_store
from .kind import NONE, VERDICTS, WRONG, JudgedKind


@dataclass(frozen=True, slots=True)
class CurrentVerdict:
    """The verdict in force on a decision or write, and the sample that has it."""

    sample_id: str
    label: str  # of models.PART_LABELS
    status: str  # of the sample
    by: str
    at: int
    label_id: str  # of the verdict in force
    corrected: dict[str, str]  # as the part's corrected output; empty unless the label is `corrected`
    reason: str  # why it is wrong
    is_own: bool  # the sample is its own; else it is that of its turn

    @property
    def is_right(self) -> bool:
        """Whether it was right as it was made."""
        return self.label == "correct"


def read_verdict(kind: JudgedKind, samples: Sequence[DatasetSample]) -> CurrentVerdict | None:
    """The verdict on the first of these samples that somebody judged; None: no verdict.

    A label that a sample was created with is nobody's verdict.
    """
    for sample in samples:
        label = getattr(sample, f"{kind.part}_label")
        if label and sample.label_id:
            corrected = parts.parse_corrected(getattr(sample, f"{kind.part}_corrected_output"))
            return CurrentVerdict(
                sample_id=sample.id,
                label=label,
                status=sample.annotation_status or DatasetSample.Status.PENDING,
                by=sample.annotated_by or "",
                at=sample.annotated_at or 0,
                label_id=sample.label_id,
                corrected=corrected if label == parts.CORRECTED else {},
                reason=corrected.get("reason", ""),
                is_own=find_own_sample([sample]) is not None,
            )
    return None


def find_own_sample(samples: Sequence[DatasetSample]) -> DatasetSample | None:
    """The sample among these that is about the decision or write alone; None: none is."""
    turn = DatasetSample.Type.ANNOTATED_TURN
    return next((sample for sample in samples if sample.sample_type != turn), None)


def find_verdicts(kind: JudgedKind, agent: Agent, rows: Iterable[Any]) -> dict[str, CurrentVerdict]:
    """The verdict in force on each of these rows of one agent, by row id.

    Rows that nobody judged are left out.
    """
    samples = kind.find_samples(agent, list(rows))
    verdicts = {name: read_verdict(kind, row_samples) for name, row_samples in samples.items()}
    return {name: verdict for name, verdict in verdicts.items() if verdict}


Status = DatasetSample.Status


def give_verdict(
    kind: JudgedKind,
    agent: Agent,
    name: str,
    verdict: str,
    *,
    by: str,
    correction: Any = None,
    expected: str | None = None,
    filed: str = "",
) -> DatasetSample:
    """Give one of VERDICTS on the decision or write `name`; return its sample.

    NONE creates the sample without a verdict.

    A right one, and a wrong one with a known correction, is approved for training by the person. A wrong one without
    needs review. The same verdict again changes nothing; another verdict changes the same sample. `expected` is the id
    of the verdict in force as the person saw it, empty for none. `filed` is the id of a correction of the write that
    was filed with the verdict.

    Raises Refused: for an unknown id (404), for rows that cannot become samples, for a correction that is not valid,
    for a sample that somebody else has open, and when another verdict than `expected` is in force.
    """
    if verdict not in VERDICTS:
        raise Refused(str(kind.words.neither))
    if correction and verdict != WRONG:
        raise Refused(str(kind.words.only_wrong))
    row = kind.find(agent, name)
    if verdict == NONE and kind.create:
        return kind.create(agent, row, by)
    sample_id = kind.find_sample_id(agent, row.id)
    is_there = sample_store.is_stored(sample_id)
    subject = kind.read_subject(agent, row) if kind.reads_again or not is_there else None
    part = kind.verdict(row, subject, verdict, correction) if verdict != NONE else None
    new = None if is_there else sample_store.build_sample(kind, agent, row.id, subject, verdict=verdict)
    with sample_store.sample_transaction(agent, new):
        sample = _add_verdict(kind, sample_id, part, by=by, expected=expected, filed=filed)
    signatures.ensure_signature(sample)
    sample_privacy.refresh_judged(sample)
    return sample


def _add_verdict(kind, sample_id, part, *, by, expected, filed):
    """The sample, with the verdict unless it is in force; inside the caller's transaction."""
    sample = DatasetSample.objects.get(id=sample_id)
    status = Status.NEEDS_REVIEW if part and part.label == parts.INCORRECT else Status.APPROVED
    is_in_force = part is not None and _is_in_force(sample, kind, part, status)
    is_repeated = is_in_force and sample.annotated_by == by  # the same person sent the same verdict again
    if expected is not None and (sample.label_id or "") != expected and not is_repeated:
        raise Refused(verdicts.describe_overtaken(sample))
    if part is None or is_in_force:
        return sample
    return verdicts.add_verdict(sample_id, status, by=by, filed=filed, **{kind.part: part})


def find_problem(kind: JudgedKind, agent: Agent, row: Any) -> str:
    """Why a decision or write cannot become a sample, as a sentence; empty when it can."""
    try:
        kind.read_subject(agent, row)
    except Refused as refused:
        return refused.sentence
    return ""


def _is_in_force(sample, kind: JudgedKind, part, status):
    """Whether this very verdict is in force; its author does not matter."""
    part_columns = (getattr(sample, f"{kind.part}_label"), getattr(sample, f"{kind.part}_corrected_output"))
    return (sample.annotation_status, *part_columns) == (status, part.label, part.corrected_json)
