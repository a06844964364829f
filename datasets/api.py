"""The API of samples: read them, create them from turns, and label them."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query

from agents.decorators import agent_view_for
from ledger.models import Session
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from . import services
from .models import DatasetSample
from .queues.blind import cover_hidden
from .review import verdicts
from .sample_list import SAMPLES
from .schemas import LabelIn, MadeOut, SampleDetailOut, SampleOut, SampleQuery, SamplesIn
from .versions import compute_version, parse_if_match

router = Operations("datasets_api", tags=["samples"])
IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "required": False,
    "schema": {"type": "string"},
    "description": "the ETag of the sample as you saw it",
}
BUDGET_BYTES = 2_000_000  # of content in one answer


@router.get("/samples", Page[SampleOut], 409)
@needs("viewer")
def sample_list(request, filters: Query[SampleQuery]):
    """Samples, newest first; a page also ends after about 2 MB.

    A search may return fewer, and a `next`.
    """
    listing = SAMPLES.fits(request.user, **filters.criteria())
    return page_to_json(listing.page(budget=BUDGET_BYTES, weigh=_estimate_size, **filters.place))


@router.get("/samples/{sample_id}", SampleDetailOut, 404)
@needs("viewer")
def sample_detail(request, response: HttpResponse, sample_id: str):
    """A sample with its verdicts.

    The ETag is the version of the sample: send it as `If-Match` with a verdict.
    """
    sample = get_object_or_404(DatasetSample, id=sample_id)
    response["ETag"] = f'"{compute_version(sample)}"'
    cover_hidden([sample], request.user)
    return sample


@router.post("/agents/{agent}/sessions/{session_id}/samples", MadeOut, 400, 404, 409, 503, summary="Samples Create")
@agent_view_for("labeller")
def samples_make(request, agent, session_id: str, body: SamplesIn):
    """Create samples from turns; a turn that already has a sample keeps this sample."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    numbers = None if body.all else body.turns
    include = body.include_excluded or None  # None: turns that are named by number are always included
    return services.make_samples(agent, session.id, numbers, by=request.user.username, include_excluded=include)


@router.post("/samples/{sample_id}/label", SampleOut, 400, 404, 409, 412, openapi_extra={"parameters": [IF_MATCH]})
@needs("labeller")
def sample_label(request, response: HttpResponse, sample_id: str, body: LabelIn):
    """Give a verdict on a sample, with the reply to use for training.

    412 if `If-Match` names an old version.
    """
    is_version = parse_if_match(request.headers.get("If-Match"))
    try:
        verdict = body.read_verdict()
        sample = verdicts.label_sample(sample_id, by=request.user.username, is_version=is_version, **verdict)
    except verdicts.NoSuchSample as exc:
        raise Http404 from exc
    response["ETag"] = f'"{compute_version(sample, last_label=sample.label_id)}"'
    return sample


def _estimate_size(sample):
    return sum(len(text or "") for text in (sample.content, sample.output, sample.pii_redacted_content))
