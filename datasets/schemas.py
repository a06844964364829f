"""API schemas of samples: responses and request bodies."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from ledger.session.schemas import EvidenceOut
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .evidence import find_evidence
from .forms import LONGEST_NOTES, LONGEST_REPLY
from .models import DatasetSample, SampleLabel
from .review import parts
from .review.parts import DECISIONS, GUARDIAN_STATUSES, PartVerdict
from .sample_list import SampleFilters
from .sample_order import read_history
from .words import PROMPTED_WORDS

Status = Literal["pending", "approved", "rejected", "needs_review", "auto_approved"]
Verdict = Literal["approved", "rejected", "needs_review", "pending"]
Type = Literal["memory_gate_positive", "memory_gate_negative", "write_guardian_decision", "annotated_turn"]

PartLabel = Literal["correct", "incorrect", "corrected"]

PROMPTS = tuple(PROMPTED_WORDS)
PromptedBy = Literal[PROMPTS]
Ending = Literal["complete", "cut_off"]

NO_NUL = r"^[^\x00]*$"


PROMPTED_BY, ENDING = (SampleFilters.DESCRIPTIONS[name] for name in ("prompted_by", "ending"))


class SampleQuery(list_query(SampleFilters, without=("judged",))):
    pass


class GateOutput(Schema):
    """The output that memory_gate should have given."""

    decision: Literal[DECISIONS]
    candidateFact: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)


class GuardianOutput(Schema):
    """The output that write_guardian should have given."""

    status: Literal[GUARDIAN_STATUSES]
    targetFile: str = Field("", max_length=500, pattern=NO_NUL)
    reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    content: str | None = Field(
        None, max_length=LONGEST_REPLY, pattern=NO_NUL, description="of a write: the whole file as it should be"
    )


class PartsOut(Schema):
    """The verdicts on the gate's and the guardian's part; null: no verdict."""

    gate_label: PartLabel | None
    gate_corrected_output: GateOutput | None
    gate_reason: str | None = Field(description="why the decision is wrong")
    guardian_label: PartLabel | None
    guardian_corrected_output: GuardianOutput | None

    @staticmethod
    def resolve_gate_corrected_output(row):
        corrected = parts.parse_corrected(row.gate_corrected_output)
        return corrected if "decision" in corrected else None

    @staticmethod
    def resolve_gate_reason(row):
        return parts.parse_corrected(row.gate_corrected_output).get("reason") or None

    @staticmethod
    def resolve_guardian_corrected_output(row):
        return parts.parse_corrected(row.guardian_corrected_output) or None


class SampleOut(PartsOut, table_schema(DatasetSample)):
    content: dict[str, Any] = Field(alias="body", description="shaped by sample_type")
    quality_factors: Any = Field(description="what the score was made of; null: nothing is known of it")
    pii_redacted_content: Any = Field(description="`content` without personal data; null: nobody made it")

    @staticmethod
    def resolve_quality_factors(row):
        return _parse_json(row.quality_factors)

    @staticmethod
    def resolve_pii_redacted_content(row):
        return _parse_json(row.pii_redacted_content)


class LabelOut(PartsOut, table_schema(SampleLabel)):
    pass


class SampleDetailOut(SampleOut):
    labels: list[LabelOut] = Field(description="the last 50 verdicts, newest first")
    evidence: EvidenceOut | None = Field(description="null: no transcripts of this agent are stored")

    @staticmethod
    def resolve_labels(sample):
        return read_history(sample)

    @staticmethod
    def resolve_evidence(sample):
        return find_evidence(sample)


class SamplesIn(Body):
    """The turns to create samples from: their numbers, or `all`.

    With `all`, every turn that can become a sample and is not a sample yet.
    """

    turns: list[Annotated[int, Field(ge=0, lt=10**9)]] = Field([], max_length=500)
    all: bool = False
    include_excluded: bool = Field(
        False,
        description="with `all`: also turns that exports leave out by default, as those that OpenClaw started itself",
    )


class Skipped(Schema):
    id: str = Field(description="number of the turn")
    reason: str


class MadeOut(Schema):
    made: list[str] = Field(description="ids of new samples")
    existing: list[str] = Field(description="ids of existing samples")
    skipped: list[Skipped]
    excluded: dict[str, int] = Field(
        description="turns left out by reason: injected, unknown_envelope, interrupted, picture; name them, or use "
        "`include_excluded`, to create samples of them"
    )
    left: int = Field(description="turns left after this call: call again")


class LabelIn(Body):
    status: Verdict
    output: str | None = Field(
        None, max_length=LONGEST_REPLY, pattern=NO_NUL, description="the edited reply; null: unchanged"
    )
    notes: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    expected_status: Status | None = Field(None, description="refuse if the status has changed from this")
    reason: str | None = Field(
        None, max_length=40, pattern=NO_NUL, description="for a rejection: a code from the setting review.rejectReasons"
    )
    gate_label: PartLabel | None = Field(None, description="null: unchanged")
    gate_corrected_output: GateOutput | None = Field(None, description="with `corrected` only; with its reason")
    gate_reason: str = Field(
        "", max_length=LONGEST_NOTES, pattern=NO_NUL,
        description="required with `incorrect`: why, in words or as a code from the setting review.rejectReasons",
    )  # fmt: skip
    guardian_label: PartLabel | None = Field(None, description="null: unchanged")
    guardian_corrected_output: GuardianOutput | None = Field(None, description="with `corrected` only")

    def read_verdict(self) -> dict[str, Any]:
        """The arguments of `label_sample`."""
        fields = self.dict()
        arguments = {name: fields[name] for name in ("status", "output", "notes", "expected_status", "reason")}
        return arguments | {name: _read_part(fields, name) for name in ("gate", "guardian")}


def _parse_json(text):
    """The JSON value of a column, or its text where it is no JSON."""
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return text


def _read_part(fields, name):
    label, corrected = fields[f"{name}_label"], fields[f"{name}_corrected_output"]
    if name == "gate" and label == parts.INCORRECT and not corrected:
        corrected = {"reason": fields["gate_reason"]}
    if corrected:
        corrected = {key: value for key, value in corrected.items() if value is not None}
    if not label and not corrected:
        return None
    # A correction without a label is passed on, so that it is refused and not lost.
    return (parts.build_gate_verdict if name == "gate" else PartVerdict)(label or "", corrected)
