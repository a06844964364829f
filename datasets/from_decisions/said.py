"""What people said of decisions, by the samples that they are in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from gate.models import MemoryGateDecision

from .. import annotated_turns
from ..exporters.samples import GATE_TYPES
from ..models import DatasetSample
from ..review import parts
from . import making

BATCH = 500
READ = (
    *("id", "sample_type", "decision_id", "agent_id", "annotation_status", "annotated_by", "annotated_at"),
    *("label_id", "gate_label", "gate_corrected_output"),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said of a decision, and the sample that they said it on."""

    decision_id: str
    sample_id: str
    label: str  # of models.PART_LABELS
    status: str  # of the sample
    by: str
    at: int
    label_id: str  # of the verdict in force
    corrected: dict[str, str]  # decision, candidateFact, reason; empty unless the label is `corrected`
    is_own: bool  # the sample is the decision's own; else it is that of its turn

    @property
    def is_right(self) -> bool:
        """Whether the decision was right as it was made."""
        return self.label == "correct"


def of(agent_id: str, decisions: Iterable[MemoryGateDecision]) -> dict[str, Said]:
    """What people said of each of these decisions of one agent that somebody judged, by the decision's id.

    What was said of the decision itself counts, else what was said of it on the sample of its turn.
    """
    return of_samples(samples_of(agent_id, decisions))


def samples_of(agent_id: str, decisions: Iterable[MemoryGateDecision]) -> dict[str, list[DatasetSample]]:
    """The samples of each of these decisions, by its id: its own first, then that of its turn; most have none."""
    found: dict[str, list[DatasetSample]] = {}
    left = iter(decisions)
    while batch := list(islice(left, BATCH)):
        ids = [making.sample_id(agent_id, one.id) for one in batch]
        ids += [annotated_turns.sample_id(agent_id, one.turn_id) for one in batch if one.turn_id]
        names = {one.id for one in batch}
        for sample in DatasetSample.objects.filter(id__in=ids).only(*READ):
            if sample.decision_id in names and sample.annotation_status:
                found.setdefault(sample.decision_id, []).append(sample)
    return {name: sorted(some, key=_is_of_turn) for name, some in found.items()}


def own(samples: Sequence[DatasetSample]) -> DatasetSample | None:
    """Of the samples of a decision the one that is about nothing else."""
    return next((sample for sample in samples if not _is_of_turn(sample)), None)


def approved(agent_id: str) -> Iterator[Said]:
    """What people said of decisions of an agent on samples that are approved, in no order."""
    rows = DatasetSample.objects.approved().filter(agent_id=agent_id, gate_label__isnull=False).only(*READ)
    found: dict[str, list[DatasetSample]] = {}
    for sample in rows.iterator(chunk_size=BATCH):
        if sample.decision_id:
            found.setdefault(sample.decision_id, []).append(sample)
    yield from of_samples({name: sorted(some, key=_is_of_turn) for name, some in found.items()}).values()


def _is_of_turn(sample):
    return sample.sample_type not in GATE_TYPES


def of_samples(samples: Mapping[str, Sequence[DatasetSample]]) -> dict[str, Said]:
    """The same from `samples_of`."""
    judged = {name: next((one for one in some if one.gate_label), None) for name, some in samples.items()}
    return {name: _said(sample) for name, sample in judged.items() if sample}


def _said(sample):
    return Said(
        decision_id=sample.decision_id,
        sample_id=sample.id,
        label=sample.gate_label,
        status=sample.annotation_status or DatasetSample.Status.PENDING,
        by=sample.annotated_by or "",
        at=sample.annotated_at or 0,
        label_id=sample.label_id or "",
        corrected=parts.stored(sample.gate_corrected_output),
        is_own=not _is_of_turn(sample),
    )
