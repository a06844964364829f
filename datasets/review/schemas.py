"""API schemas of the review queue: responses and request bodies."""

from typing import Annotated, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema

from ..forms import LONGEST_NOTES
from ..sample_order import Filters
from ..schemas import (
    ENDING,
    NO_NUL,
    PROMPTED_BY,
    Ending,
    LabelIn,
    PromptedBy,
    SampleDetailOut,
    SampleOut,
    Status,
    Type,
)
from .queues import Queue

SampleId = Annotated[str, Field(max_length=200, pattern=NO_NUL)]


class QueueFilters(Schema):
    """Which samples to review: all, or only some."""

    queue: Literal["pending", "needs_review"] | None = Field(None, description="one status; leave out for both")
    agent: str | None = Field(None, max_length=56)
    type: Type | None = None
    session: str | None = Field(None, max_length=500, pattern=NO_NUL)
    skipped: bool = Field(False, description="only samples you skipped; otherwise only samples you did not skip")
    prompted_by: PromptedBy | None = Field(None, description=PROMPTED_BY)
    ending: Ending | None = Field(None, description=ENDING)

    def build_queue(self) -> Queue:
        """The queue as the page has it."""
        names = ("agent", "type", "session", "prompted_by", "ending")
        return Queue(self.queue or "", skipped=self.skipped, **{name: getattr(self, name) or "" for name in names})


class NextFilters(QueueFilters):
    after: SampleId | None = Field(
        None, description="id of a sample: gives the next sample after this one, or the first sample"
    )


class ClaimOut(Schema):
    sample_id: str
    since: int
    expires_at: int = Field(description="renew the claim before this time, or the sample is given to somebody else")


class NextOut(Schema):
    sample: SampleDetailOut | None = Field(description="null: no sample is left for you")
    claim: ClaimOut | None


class VerdictIn(LabelIn):
    """A verdict on one sample; the next sample comes from the queue of the other parameters."""

    sample_id: SampleId


class JudgedOut(NextOut):
    judged: SampleOut


class ReleaseIn(Body):
    since: int | None = Field(None, ge=0, lt=2**63, description="only this claim, not a later claim")


class ReleaseOut(Schema):
    released: bool


class SkipIn(Body):
    sample_id: SampleId


class SkipOut(Schema):
    sample_id: str


class UndoneOut(Schema):
    kind: Literal["verdict", "skip", "bulk"]
    sentence: str
    sample_id: str | None = Field(description="the sample to review again; null after a bulk action")
    sample_count: int


class HolderOut(Schema):
    name: str
    seconds: int = Field(description="remaining time of their claim if they leave now")
    sample_count: int


class ProgressOut(Schema):
    waiting: int
    waiting_more: bool = Field(description="the count is a minimum")
    today: int = Field(description="reviewed by everybody on this UTC day")
    mine_today: int
    mine_last_hour: int
    mine: int
    mine_more: bool
    held_by_others: list[HolderOut]


class BulkIn(Body):
    """One verdict on every matching sample; without a `filter_status`, on samples to review."""

    status: Literal["approved", "rejected"]
    expected_count: int = Field(
        ge=0, lt=10**9, description="how many match, as you saw it; refused if the count has changed"
    )
    expected_wrong: int = Field(
        0,
        ge=0,
        lt=10**9,
        description="of `approved`: how many verdicts “Wrong” it files, as you saw it; refused if it files others",
    )
    filter_status: Status | None = None
    agent: str | None = Field(None, max_length=56)
    type: Type | None = None
    session: str | None = Field(None, max_length=500, pattern=NO_NUL)
    prompted_by: PromptedBy | None = Field(None, description=PROMPTED_BY)
    ending: Ending | None = Field(None, description=ENDING)
    notes: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)

    def build_filters(self) -> Filters:
        """The filters as the list has them."""
        names = ("agent", "type", "session", "prompted_by", "ending")
        return Filters(self.filter_status or "", **{name: getattr(self, name) or "" for name in names})


class BulkOut(Schema):
    bulk_id: str
    status: Status
    count: int
    held: int = Field(description="left out because other reviewers had them open")
