"""The review queue: claim the next sample, hold it, let go of it, skip, undo, judge many at once."""

from dataclasses import asdict

from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from ..models import DatasetSample
from . import bulk, claims, going_on, progress, skips, undo, verdicts
from .schemas import (
    BulkIn,
    BulkOut,
    ClaimOut,
    JudgedOut,
    NextFilters,
    NextOut,
    ProgressOut,
    QueueFilters,
    ReleaseIn,
    ReleaseOut,
    SkipIn,
    SkipOut,
    UndoneOut,
    VerdictIn,
)

router = Operations("datasets_review_api", tags=["review"])


@router.get("/review/next", NextOut)
@needs("labeller")
def review_next(request, filters: Query[NextFilters]):
    """Claim the next sample that waits. The same one again until you judge, skip or release it."""
    return _next(request, claims.take_next(filters.chosen(), by=request.user.username, after=filters.after or ""))


@router.post("/review/verdict", JudgedOut, 404, 409)
@needs("labeller")
def review_verdict(request, filters: Query[QueueFilters], body: VerdictIn):
    """A verdict on one sample and the claim on the next one behind it, both or neither."""
    try:
        judged, claim = going_on.label_and_take_next(
            filters.chosen(), body.sample_id, body.verdict(), by=request.user.username
        )
    except verdicts.NoSuchSample as exc:
        raise Http404 from exc
    return {"judged": judged, **_next(request, claim)}


@router.post("/review/claims/{sample_id}", ClaimOut, 404, 409)
@needs("labeller")
def claim_renew(request, sample_id: str):
    """Hold on to a sample for another while; 409 when somebody else has it by now."""
    get_object_or_404(DatasetSample.objects.only("id"), id=sample_id)
    return _claim(claims.renew(sample_id, by=request.user.username))


@router.post("/review/claims/{sample_id}/release", ReleaseOut)
@needs("labeller")
def claim_release(request, sample_id: str, body: ReleaseIn):
    """Let go of a sample."""
    return {"released": claims.release(sample_id, by=request.user.username, since=body.since)}


@router.post("/review/skip", SkipOut, 409)
@needs("labeller")
def review_skip(request, body: SkipIn):
    """Leave a sample to others, or to later."""
    skips.skip_sample(body.sample_id, by=request.user.username)
    return {"sample_id": body.sample_id}


@router.post("/review/undo", UndoneOut, 409)
@needs("labeller")
def review_undo(request):
    """Take back the last of your 50 latest actions; 409 when it cannot be, then the next call goes on behind it."""
    return asdict(undo.undo(request.user.username))


@router.get("/review/progress", ProgressOut)
@needs("labeller")
def review_progress(request, filters: Query[QueueFilters]):
    """How many samples wait, and how many were judged."""
    queue, by = filters.chosen(), request.user.username
    return asdict(progress.of(queue, by)) | {"held_by_others": list(map(asdict, claims.holders(queue, besides=by)))}


@router.post("/samples/bulk", BulkOut, 409)
@needs("labeller")
def samples_bulk(request, body: BulkIn):
    """One verdict on every sample that fits a filter, at most 10,000; one undo takes all of it back."""
    filters = body.filters()
    scope = bulk.Scope(filters.narrow(DatasetSample.objects.all()), filters.status, filters.agent, filters.query)
    done = bulk.label_all(
        scope, body.status, by=request.user.username, expected_count=body.expected_count, notes=body.notes
    )
    return asdict(done)


def _next(request, claim):
    if claim is None:
        return {"sample": None, "claim": None}
    request.opened = ("sample", claim.sample_id)  # for the audit log: the address does not name it
    return {"sample": get_object_or_404(DatasetSample, id=claim.sample_id), "claim": _claim(claim)}


def _claim(claim):
    return {"sample_id": claim.sample_id, "since": claim.since, "expires_at": claim.expires_at}
