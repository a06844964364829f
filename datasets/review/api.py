"""The API of the review queue: claims, verdicts, skips, undo and bulk verdicts."""

from dataclasses import asdict
from typing import Annotated, Literal

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.pages.roles import needs

from ..forms import LONGEST_NOTES
from ..models import DatasetSample
from ..queues.blind import cover_hidden
from ..queues.queue_store import find_own_queue
from ..queues.seats import SeatClaims
from ..sample_order import Filters
from ..schemas import ENDING, NO_NUL, PROMPTED_BY, Ending, LabelIn, PromptedBy, SampleDetailOut, SampleOut, Status, Type
from . import bulk, claims, queues, undo, verdicts
from .queues import Queue

SampleId = Annotated[str, Field(max_length=200, pattern=NO_NUL)]


class QueueFilters(Schema):
    """Which samples to review: all, or only some."""

    queue: Literal["pending", "needs_review", "needs_reason"] | None = Field(
        None, description="one status; `needs_reason`: wrong decisions approved without a reason; leave out for both"
    )
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


class ClaimQuery(Schema):
    kind: Literal["sample", "value"] = Field("sample", description="`value`: the id is the hash of a found value")
    review_queue: str | None = Field(None, max_length=40, description="the claim on its item in this review queue")


class ClaimOut(Schema):
    sample_id: str = Field(description="of a found value its hash")
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
    reason: str | None = Field(
        None, max_length=40, pattern=NO_NUL, description="of `rejected`: a code from the setting review.rejectReasons"
    )

    def build_filters(self) -> Filters:
        """The filters as the list has them."""
        names = ("agent", "type", "session", "prompted_by", "ending")
        return Filters(self.filter_status or "", **{name: getattr(self, name) or "" for name in names})


class BulkOut(Schema):
    bulk_id: str
    status: Status
    count: int
    held: int = Field(description="left out because other reviewers had them open")
    unexplained: int = Field(description="left out because nobody said why their decision is wrong")


router = Operations("datasets_review_api", tags=["review"])


@router.get("/review/next", NextOut)
@needs("labeller")
def review_next(request, filters: Query[NextFilters]):
    """Claim the next sample to review.

    Returns the same sample until you give a verdict, skip or release it.
    """
    queue, by = filters.build_queue(), request.user.username
    return _build_next(request, claims.take_next(queue, by=by, after=filters.after or ""))


@router.post("/review/verdict", JudgedOut, 404, 409)
@needs("labeller")
def review_verdict(request, filters: Query[QueueFilters], body: VerdictIn):
    """Give a verdict on a sample and claim the next sample, both or neither."""
    try:
        judged, claim = verdicts.label_and_take_next(
            filters.build_queue(), body.sample_id, body.read_verdict(), by=request.user.username
        )
    except verdicts.NoSuchSample as exc:
        raise Http404(_("There is no sample %(name)s.") % {"name": body.sample_id}) from exc
    return {"judged": judged, **_build_next(request, claim)}


@router.post("/review/claims/{sample_id}", ClaimOut, 404, 409)
@needs("labeller")
def claim_renew(request, sample_id: str, query: Query[ClaimQuery]):
    """Renew the claim on a sample or found value; 409 if another reviewer has claimed it."""
    get_object_or_404(claims.TABLES[query.kind].objects.only("pk"), pk=sample_id)
    if query.review_queue:
        find_own_queue(request.user, query.review_queue)
        return _build_claim(
            SeatClaims(Queue(review_queue=query.review_queue)).renew(sample_id, by=request.user.username)
        )
    return _build_claim(claims.renew(sample_id, by=request.user.username, kind=query.kind))


@router.post("/review/claims/{sample_id}/release", ReleaseOut)
@needs("labeller")
def claim_release(request, sample_id: str, query: Query[ClaimQuery], body: ReleaseIn):
    """Release a sample or found value."""
    if query.review_queue:
        desk = SeatClaims(Queue(review_queue=query.review_queue))
        return {"released": desk.release(sample_id, by=request.user.username, since=body.since)}
    return {"released": claims.release(sample_id, by=request.user.username, since=body.since)}


@router.post("/review/skip", SkipOut, 409)
@needs("labeller")
def review_skip(request, body: SkipIn):
    """Skip a sample: leave it to others, or for later."""
    verdicts.skip_sample(body.sample_id, by=request.user.username)
    return {"sample_id": body.sample_id}


@router.post("/review/undo", UndoneOut, 409)
@needs("labeller")
def review_undo(request):
    """Undo the last of your 50 latest actions.

    409 if not possible, then the next call undoes the action before.
    """
    return asdict(undo.undo(request.user.username))


@router.get("/review/progress", ProgressOut)
@needs("labeller")
def review_progress(request, filters: Query[QueueFilters]):
    """How many samples are to be reviewed, and how many were reviewed."""
    queue, by = filters.build_queue(), request.user.username
    return asdict(queues.read_progress(queue, by, with_all_own=True)) | {
        "held_by_others": list(map(asdict, claims.find_holders(queue, besides=by)))
    }


@router.post("/samples/bulk", BulkOut, 409)
@needs("labeller")
def samples_bulk(request, body: BulkIn):
    """One verdict on every sample that matches a filter, at most 10,000; undone with one undo."""
    filters = body.build_filters()
    scope = bulk.Scope(filters.narrow(DatasetSample.objects.all()), filters.status, filters.agent, filters.query)
    options = body.dict(include={"expected_count", "expected_wrong", "notes", "reason"})
    return asdict(bulk.label_all(scope, body.status, by=request.user.username, **options))


def _build_next(request, claim):
    if claim is None:
        return {"sample": None, "claim": None}
    request.opened = ("sample", claim.sample_id)  # for the audit log: the address does not name it
    sample = get_object_or_404(DatasetSample, id=claim.sample_id)
    cover_hidden([sample], request.user)
    return {"sample": sample, "claim": _build_claim(claim)}


def _build_claim(claim):
    return {"sample_id": claim.sample_id, "since": claim.since, "expires_at": claim.expires_at}
