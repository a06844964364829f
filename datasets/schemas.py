"""What the API says about samples, and what it takes."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Body, PageQuery

from .forms import LONGEST_NOTES, LONGEST_REPLY
from .review import parts
from .review.parts import DECISIONS, GUARDIAN_STATUSES, PartVerdict
from .sample_order import history

Status = Literal["pending", "approved", "rejected", "needs_review", "auto_approved"]
Verdict = Literal["approved", "rejected", "needs_review", "pending"]
Type = Literal["memory_gate_positive", "memory_gate_negative", "write_guardian_decision", "annotated_turn"]

PartLabel = Literal["correct", "incorrect", "corrected"]

NO_NUL = r"^[^\x00]*$"


class SampleQuery(PageQuery):
    status: Status | None = None
    agent: str | None = Field(None, max_length=56)
    type: Type | None = None
    session: str | None = Field(None, max_length=500)
    reason: str | None = Field(None, max_length=40, description="rejected for this reason")


class GateOutput(Schema):
    """What memory_gate should have said."""

    decision: Literal[DECISIONS]
    candidateFact: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)


class GuardianOutput(Schema):
    """What write_guardian should have done."""

    status: Literal[GUARDIAN_STATUSES]
    targetFile: str = Field("", max_length=500, pattern=NO_NUL)
    reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)


class PartsOut(Schema):
    """What people said of the gate's and the guardian's part; null: nothing."""

    gate_label: PartLabel | None
    gate_corrected_output: GateOutput | None
    guardian_label: PartLabel | None
    guardian_corrected_output: GuardianOutput | None

    @staticmethod
    def resolve_gate_corrected_output(row):
        return parts.stored(row.gate_corrected_output) or None

    @staticmethod
    def resolve_guardian_corrected_output(row):
        return parts.stored(row.guardian_corrected_output) or None


class SampleOut(PartsOut):
    id: str
    sample_type: Type
    agent_id: str
    session_id: str
    turn_id: str | None
    turn_number: int | None
    decision_id: str | None
    content: dict[str, Any] = Field(alias="body", description="shaped by sample_type")
    output: str | None = Field(description="the reply as a person edited it; null: as the agent gave it")
    annotation_status: Status | None
    annotated_by: str | None
    annotated_at: int | None
    annotation_notes: str | None
    reject_reason: str | None = Field(description="a code of the setting review.rejectReasons")
    quality_score: float | None
    contains_pii: bool | None
    collection_strategy: str | None
    created_at: int


class LabelOut(PartsOut):
    id: str
    status: Status
    previous_status: str
    output: str | None
    notes: str
    reason: str | None = Field(description="of a reject")
    labelled_by: str
    labelled_at: int
    undoes: str | None = Field(description="id of the verdict that this one takes back")
    bulk_id: str | None = Field(description="the same for verdicts given in one go")


class SampleDetailOut(SampleOut):
    labels: list[LabelOut] = Field(description="the last 50 verdicts, the newest first")

    @staticmethod
    def resolve_labels(sample):
        return history(sample)


class SamplesIn(Body):
    """Which turns: their numbers, or with `all` every turn that can be a sample and is none yet."""

    turns: list[Annotated[int, Field(ge=0, lt=10**9)]] = Field([], max_length=500)
    all: bool = False


class Skipped(Schema):
    id: str = Field(description="the turn's number")
    reason: str


class MadeOut(Schema):
    made: list[str] = Field(description="ids of new samples")
    existing: list[str] = Field(description="ids of samples that were there already")
    skipped: list[Skipped]
    left: int = Field(description="turns that are left after this call: ask again")


class LabelIn(Body):
    status: Verdict
    output: str | None = Field(
        None, max_length=LONGEST_REPLY, pattern=NO_NUL, description="the reply as edited; null leaves it"
    )
    notes: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    expected_status: Status | None = Field(None, description="refuse when the status is another one by now")
    reason: str | None = Field(
        None, max_length=40, pattern=NO_NUL, description="of a reject: a code of the setting review.rejectReasons"
    )
    gate_label: PartLabel | None = Field(None, description="null leaves it")
    gate_corrected_output: GateOutput | None = Field(None, description="with `corrected` only")
    guardian_label: PartLabel | None = Field(None, description="null leaves it")
    guardian_corrected_output: GuardianOutput | None = Field(None, description="with `corrected` only")

    def verdict(self) -> dict[str, Any]:
        """What `label_sample` takes."""
        said = self.dict()
        given = {name: said[name] for name in ("status", "output", "notes", "expected_status", "reason")}
        return given | {name: _part(said, name) for name in ("gate", "guardian")}


def _part(said, name):
    label, corrected = said[f"{name}_label"], said[f"{name}_corrected_output"]
    # A correction without a label is refused as what it is, not lost.
    return PartVerdict(label or "", corrected) if label or corrected else None
