"""What the API says about samples, and what it takes."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from agents.schemas import PageFilters

from .forms import LONGEST_NOTES, LONGEST_REPLY
from .review import Filters, history

Status = Literal["pending", "approved", "rejected", "needs_review", "auto_approved"]
Verdict = Literal["approved", "rejected", "needs_review", "pending"]
Type = Literal["memory_gate_positive", "memory_gate_negative", "write_guardian_decision", "annotated_turn"]

NO_NUL = r"^[^\x00]*$"


class SampleFilters(PageFilters):
    status: Status | None = None
    agent: str | None = Field(None, max_length=56)
    type: Type | None = None
    session: str | None = Field(None, max_length=500)

    def filters(self) -> Filters:
        """As the pages have them."""
        return Filters(
            status=self.status or "", agent=self.agent or "", type=self.type or "", session=self.session or ""
        )


class SampleOut(Schema):
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
    quality_score: float | None
    contains_pii: bool | None
    collection_strategy: str | None
    created_at: int


class SamplePage(Schema):
    items: list[SampleOut]
    next: str | None


class LabelOut(Schema):
    status: Status
    previous_status: str
    output: str | None
    notes: str
    labelled_by: str
    labelled_at: int


class SampleDetailOut(SampleOut):
    labels: list[LabelOut] = Field(description="the last 50 verdicts, the newest first")

    @staticmethod
    def resolve_labels(sample):
        return history(sample)


class SamplesIn(Schema):
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


class LabelIn(Schema):
    status: Verdict
    output: str | None = Field(
        None, max_length=LONGEST_REPLY, pattern=NO_NUL, description="the reply as edited; null leaves it"
    )
    notes: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    expected_status: Status | None = Field(None, description="refuse when the status is another one by now")
