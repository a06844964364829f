"""The verdicts in force on decisions and writes, read from their samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models import Agent

from ..models import DatasetSample
from ..review import parts
from .kind import JudgedKind


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
            return CurrentVerdict(
                sample_id=sample.id,
                label=label,
                status=sample.annotation_status or DatasetSample.Status.PENDING,
                by=sample.annotated_by or "",
                at=sample.annotated_at or 0,
                label_id=sample.label_id,
                corrected=parts.parse_corrected(getattr(sample, f"{kind.part}_corrected_output")),
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
