"""What goes into the API of our own guardian and comes out of it."""

from typing import Literal

from pydantic import Field

from gate.deciding.forms import MOST_TURNS, USUAL_TURNS
from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import BIGGEST, Body, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..correcting.schemas import NO_NUL
from ..files import LONGEST_FACT
from ..models import GuardianRun, GuardianStep
from ..rollbacks.schemas import EFFECT, PUT_BACK, WRITE_NOW, HandoverOfferOut
from ..standing.forecast import Effect
from .approving import LONGEST_REASON
from .facts import Asked

MOMENT = {"ge": 0, "le": BIGGEST}


class GuardianRunQuery(Schema):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, **MOMENT, description="milliseconds: decisions at or after this time")
    to_ts: int | None = Field(None, **MOMENT, description="milliseconds: decisions before this time")
    limit: int = Field(USUAL_TURNS, ge=1, le=MOST_TURNS, description="of more facts, the newest")

    @property
    def asked(self) -> Asked:
        """As a plan is asked for."""
        return _asked(self)


class GuardianRunIn(Body):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: decisions at or after this")
    to_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: decisions before this time")
    limit: int = Field(strict=True, ge=1, le=MOST_TURNS, description="of more facts, the newest")

    @property
    def asked(self) -> Asked:
        """As a run is asked for."""
        return _asked(self)


class GuardianPlanOut(Schema):
    agent: str
    facts: int = Field(description="facts that would be sent")
    withheld: int = Field(description="facts that are not sent because somebody opted out")
    files: dict[str, int] = Field(description="facts for each file; what these files hold is sent with them")
    host: str = Field(description="where they would be sent; empty: no endpoint is configured")
    model: str = Field(description="empty: none is chosen")
    prompt_version: str
    tokens: int = Field(description="estimate")
    cost_usd: float | None = Field(description="estimate; null: no price is set for the model")
    limit_today: int = Field(description="tokens for this UTC day; 0: no limit")
    left_today: int | None = Field(description="tokens left of the limit; null: no limit")
    is_beyond_limit: bool = Field(description="the run would probably stop before its last fact")
    problem: str = Field(description="why nothing can be sent; empty if something can")


class UnattendedIn(Body):
    file: Literal["MEMORY.md", "USER.md", "TOOLS.md"] = Field(description="SOUL.md and IDENTITY.md never")
    is_on: bool = Field(strict=True, description="write new facts into this file without a person")


class UnattendedOut(Schema):
    file: str
    is_on: bool
    since: int | None = Field(description="null while it is off")
    by: str | None
    host: str | None = Field(description="the endpoint that was named when it was turned on")


class OwnGuardianOut(Schema):
    unattended: list[UnattendedOut]
    problem: str = Field(description="why nothing can be sent; empty if something can")
    host: str
    model: str
    prompt_version: str
    proposed: int = Field(description="proposals that wait for an operator")
    written_today: int = Field(description="of facts that were handled since midnight UTC")
    refused_today: int
    tokens_today: int = Field(description="used, or reserved for calls without a known end")
    cost_today: float | None = Field(description="US dollars; null: not known")
    limit_today: int = Field(description="tokens; 0: no limit")
    left_today: int | None = Field(description="null: no limit")
    runs: list[JobOut] = Field(description="the latest runs over facts of this agent, newest first")


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


def _asked(wanted):
    return Asked(session=wanted.session, since=wanted.from_ts, until=wanted.to_ts, limit=wanted.limit)
