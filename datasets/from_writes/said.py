"""What people said of writes, by the samples of these."""

from collections.abc import Collection
from dataclasses import dataclass

from agents.models import Agent

from ..models import DatasetSample
from ..review import parts
from . import named

READ = ("id", "audit_id", "annotation_status", "annotated_by", "annotated_at", "label_id", "guardian_label",
        "guardian_corrected_output")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said of a write, on its sample."""

    audit_id: str
    sample_id: str
    label: str  # of models.PART_LABELS
    status: str  # of the sample
    by: str
    at: int
    label_id: str  # of the verdict in force
    corrected: dict[str, str]  # status, targetFile, reason; empty unless the label is `corrected`

    @property
    def is_right(self) -> bool:
        """Whether the write was right as it was made."""
        return self.label == "correct"


def samples_of(agent: Agent, audit_ids: Collection[str]) -> dict[str, DatasetSample]:
    """The samples of those of these writes of one agent that have one in use, by the write's id."""
    ids = named.sample_ids(agent, audit_ids)
    found = DatasetSample.objects.filter(id__in=list(ids)).only(*READ)
    return {ids[sample.id]: sample for sample in found if sample.annotation_status}


def of_sample(sample: DatasetSample | None) -> Said | None:
    """What somebody said on the sample of a write; what it came with is nobody's verdict."""
    if sample is None or not sample.guardian_label or not sample.label_id:
        return None
    return Said(
        audit_id=sample.audit_id or "",
        sample_id=sample.id,
        label=sample.guardian_label,
        status=sample.annotation_status or DatasetSample.Status.PENDING,
        by=sample.annotated_by or "",
        at=sample.annotated_at or 0,
        label_id=sample.label_id,
        corrected=parts.stored(sample.guardian_corrected_output),
    )
