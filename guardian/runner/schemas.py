"""API schemas of the built-in guardian."""

from typing import Literal

from pydantic import Field

from agents.runners.schemas import ChoiceIn, ChoiceQuery, EstimateOut, RunnerOut, SwitchedOut, build_choice
from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import Body, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..corrections.schemas import NO_NUL
from ..files import LONGEST_FACT
from ..models import GuardianRun, GuardianStep
from ..rollbacks.schemas import EFFECT, PUT_BACK, WRITE_NOW, HandoverOfferOut
from ..standing.forecast import Effect
from .fact_selection import FactChoice
from .proposals import LONGEST_REASON


class GuardianRunQuery(ChoiceQuery):
    @property
    def choice(self) -> FactChoice:
        """The facts to plan for."""
        return build_choice(self, FactChoice)


class GuardianRunIn(ChoiceIn):
    @property
    def choice(self) -> FactChoice:
        """The facts to run over."""
        return build_choice(self, FactChoice)


class GuardianPlanOut(EstimateOut):
    facts: int = Field(description="facts that would be sent")
    files: dict[str, int] = Field(description="facts for each file; what these files hold is sent with them")


class UnattendedIn(Body):
    file: Literal["MEMORY.md", "USER.md", "TOOLS.md"] = Field(description="SOUL.md and IDENTITY.md never")
    is_on: bool = Field(strict=True, description="write new facts into this file without a person")


class UnattendedOut(SwitchedOut):
    file: str
    host: str | None = Field(description="the endpoint that was named when it was turned on")


class OwnGuardianOut(RunnerOut):
    unattended: list[UnattendedOut]
    proposed: int = Field(description="proposals that wait for an operator")
    written_today: int = Field(description="of facts that were handled since midnight UTC")
    refused_today: int


class ProposalQuery(PageQuery):
    waiting: bool = Field(True, description="only those that wait for an operator")


class ProposalOut(table_schema(GuardianRun)):
    state: str


class StepOut(table_schema(GuardianStep)):
    outcome: str


class ProposalDetail(ProposalOut):
    diff: str | None = Field(
        description="against the file as it is now; of a declined one, as it was; null: no change, or it is written"
    )
    seen: str | None = Field(description="to be sent with an approval")
    is_merged: bool = Field(description="the file has changed since the model read it")
    problem: str = Field(description="why it cannot be written now; empty if it can")
    effect: Effect | None = Field(description=f"{EFFECT}; null: nothing can be written")
    effect_sentence: str
    handover: HandoverOfferOut | None
    steps: list[StepOut]


class ApproveIn(Body):
    seen: str = Field(max_length=200, description="`seen` of the proposal that was looked at")
    write_now: bool = Field(False, strict=True, description=WRITE_NOW)


class ProposalHandoverIn(Body):
    seen: str = Field(max_length=200, description="`seen` of the proposal that was looked at")
    put_back: bool = Field(False, strict=True, description=PUT_BACK)


class DeclineIn(Body):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=NO_NUL)


class ProposalWritten(Schema):
    audit_id: str | None
    is_written: bool = Field(description="false: the file held it already, and the write is `skipped`")
    meanwhile: list[str] = Field(description="versions that somebody else wrote at that moment: kept, not in the file")


class RetryIn(Body):
    fact: str | None = Field(
        None, max_length=LONGEST_FACT, pattern=NO_NUL, description="default: the fact of the write"
    )
    file: Literal["MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md"] | None = None


class RetryOut(Schema):
    proposal_id: str
    job: JobOut
