"""API schemas of changes that were handed to agents."""

from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import Handover
from .outcomes import sentence_of


class HandoverOut(table_schema(Handover)):
    state: str = Field(description="queued, running or ended")
    outcome: str = Field(
        description="done, unchanged, other, untrusted, unrecorded, failed, not_started; timed_out, canceled and "
        "interrupted: the agent may still carry out the change; empty: not known yet"
    )
    sentence: str = Field(description="the outcome in words")

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
