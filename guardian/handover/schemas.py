"""What comes out of the API about changes that were handed to agents."""

from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import Schema

from ..models import Handover
from .outcomes import sentence_of


class HandoverOut(Schema):
    id: str
    file_name: str
    audit_id: str | None = Field(description="the write that is rolled back")
    run_id: str | None = Field(description="the proposal that is written")
    own_audit_id: str = Field(description="the write that the change is, once it is done")
    before_hash: str = Field(description="sha256 of what the agent changes, which OpenClaw's record names")
    wanted_hash: str = Field(description="sha256 of what the file shall hold")
    puts_back: bool = Field(description="what OpenClaw's record names is put back first")
    reason: str
    asked_by: str
    state: str = Field(description="queued, running or ended")
    outcome: str = Field(
        description="done, unchanged, other, untrusted, unrecorded, failed, not_started; timed_out, canceled and "
        "interrupted: the agent may still carry out the change; empty: not known yet"
    )
    sentence: str = Field(description="the outcome in words")
    answer: str = Field(description="what the command printed; its beginning")
    created_at: int
    started_at: int | None
    ended_at: int | None

    @staticmethod
    def resolve_sentence(row: Handover) -> str:
        """The sentence of its outcome."""
        return sentence_of(row)


class HandoverStarted(Schema):
    handover: HandoverOut
    job: JobOut


class CureOut(Schema):
    name: str
    problem: str = Field(description="why there is no cure to hand over; empty: there is")
    content: str | None = Field(description="the whole file: read it before you hand this over")
    message: str = Field(description="the text to send to the agent in a session of its owner; empty: none")
