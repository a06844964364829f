"""The API of the review queue: claims, verdicts, skips, undo and bulk verdicts."""

from dataclasses import asdict

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from ..models import DatasetSample
from . import bulk, claims, progress, queue_steps, skips, undo, verdicts
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
        judged, claim = queue_steps.label_and_take_next(
            filters.build_queue(), body.sample_id, body.read_verdict(), by=request.user.username
        )
    except verdicts.NoSuchSample as exc:
        raise Http404(_("There is no sample %(name)s.") % {"name": body.sample_id}) from exc
    return {"judged": judged, **_build_next(request, claim)}


@router.post("/review/claims/{sample_id}", ClaimOut, 404, 409)
@needs("labeller")
def claim_renew(request, sample_id: str):
    """Renew the claim on a sample; 409 if another reviewer has claimed the sample."""
    get_object_or_404(DatasetSample.objects.only("id"), id=sample_id)
    return _build_claim(claims.renew(sample_id, by=request.user.username))


@router.post("/review/claims/{sample_id}/release", ReleaseOut)
@needs("labeller")
def claim_release(request, sample_id: str, body: ReleaseIn):
    """Release a sample."""
    return {"released": claims.release(sample_id, by=request.user.username, since=body.since)}


@router.post("/review/skip", SkipOut, 409)
@needs("labeller")
def review_skip(request, body: SkipIn):
    """Skip a sample: leave it to others, or for later."""
    skips.skip_sample(body.sample_id, by=request.user.username)
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
    return asdict(progress.read_progress(queue, by)) | {
        "held_by_others": list(map(asdict, claims.find_holders(queue, besides=by)))
    }


@router.post("/samples/bulk", BulkOut, 409)
@needs("labeller")
def samples_bulk(request, body: BulkIn):
    """One verdict on every sample that matches a filter, at most 10,000; undone with one undo."""
    filters = body.build_filters()
    scope = bulk.Scope(filters.narrow(DatasetSample.objects.all()), filters.status, filters.agent, filters.query)
    options = {"expected_count": body.expected_count, "expected_wrong": body.expected_wrong, "notes": body.notes}
    return asdict(bulk.label_all(scope, body.status, by=request.user.username, **options))


def _build_next(request, claim):
    if claim is None:
        return {"sample": None, "claim": None}
    request.opened = ("sample", claim.sample_id)  # for the audit log: the address does not name it
    return {"sample": get_object_or_404(DatasetSample, id=claim.sample_id), "claim": _build_claim(claim)}


def _build_claim(claim):
    return {"sample_id": claim.sample_id, "since": claim.since, "expires_at": claim.expires_at}
