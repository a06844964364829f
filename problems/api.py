"""API of problems."""

from dataclasses import replace

from django.shortcuts import get_object_or_404
from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from . import services
from .causes import find_causes
from .models import Problem
from .problem_list import PROBLEMS, READ, shape
from .schemas import MuteIn, ProblemOut, ProblemQuery

router = Operations("problems_api", tags=["operations"])


@router.get("/problems", Page[ProblemOut], 409)
@needs("operator")
def problem_list(request, filters: Query[ProblemQuery]):
    """List problems that need a person, worst first.

    They are the open ones, unless the request names another state. Those that follow from another open problem are
    listed with `segment=all`, a kind or an agent.
    """
    listing = PROBLEMS.fits(request.user, **filters.criteria())
    page = replace(listing, rows=listing.rows.values(*READ)).page(**filters.place)
    causes = find_causes(request.user)
    return page_to_json(page, [shape(row) | {"cause_id": causes.get(row["id"], "")} for row in page])


@router.post("/problems/{problem_id}/mute", ProblemOut, 404, 409)
@needs("operator")
def problem_mute(request, problem_id: str, body: MuteIn):
    """Mute an open problem: it is not counted until it is worse, or gone and back."""
    return _apply(request, services.mute, problem_id, reason=body.reason, until=body.until)


@router.post("/problems/{problem_id}/unmute", ProblemOut, 404, 409)
@needs("operator")
def problem_unmute(request, problem_id: str):
    """Show a muted problem again."""
    return _apply(request, services.unmute, problem_id)


@router.post("/problems/{problem_id}/close", ProblemOut, 404, 409)
@needs("operator")
def problem_close(request, problem_id: str):
    """Close a problem: it opens again when it is worse, or gone and back."""
    return _apply(request, services.close, problem_id)


@router.post("/problems/{problem_id}/seen", ProblemOut, 404, 409)
@needs("operator")
def problem_seen(request, problem_id: str):
    """Mark an open problem as seen.

    The first person who did so stays.
    """
    return _apply(request, services.mark_seen, problem_id)


def _apply(request, act, problem_id, **options):
    get_object_or_404(Problem.objects.only("id"), id=problem_id)  # groups of errors have ids of the same kind
    row = act(problem_id, by=request.user.username, **options)
    cause_id = find_causes(request.user).get(row.id, "")
    return shape({name: getattr(row, name) for name in READ}) | {"cause_id": cause_id}
