"""What people said of decisions and writes, by the samples of these."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models import Agent

from ..models import DatasetSample
from ..review import parts
from .kind import JudgedKind


@dataclass(frozen=True, slots=True)
class CurrentVerdict:
    """What somebody said of a decision or a write, and the sample that they said it on."""

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
    """What was said on the first of these samples that somebody judged; what one came with is nobody's verdict."""
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
    """Of the samples of a decision or write the one that is about nothing else."""
    turn = DatasetSample.Type.ANNOTATED_TURN
    return next((sample for sample in samples if sample.sample_type != turn), None)


def find_verdicts(kind: JudgedKind, agent: Agent, rows: Iterable[Any]) -> dict[str, CurrentVerdict]:
    """What people said of each of these rows of one agent that somebody judged, by its id."""
    samples = kind.samples_of(agent, list(rows))
    judgments = {name: read_verdict(kind, some) for name, some in samples.items()}
    return {name: judgment for name, judgment in judgments.items() if judgment}
