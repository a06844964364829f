"""The API of findings: values with their places, verdicts, and undoing."""

from django.shortcuts import get_object_or_404
from ninja import Query

from agents.models import Agent
from findings.models import Finding
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.not_found_page import MissingPart
from openclaw_web.pages.roles import needs

from ..models import FindingValue
from . import judging, value_pages
from .schemas import (
    FindingPlaceOut,
    FindingPlacesQuery,
    FindingUndoIn,
    FindingVerdictIn,
    FindingVerdictOut,
    FoundValueDetailOut,
    FoundValueOut,
    FoundValueQuery,
)
from .value_list import VALUES

router = Operations("findings_api", tags=["findings"])


@router.get("/findings", Page[FoundValueOut], 409)
@needs("viewer")
def finding_list(request, filters: Query[FoundValueQuery]):
    """The values found in texts, without the values themselves, newest first."""
    return page_to_json(VALUES.fits(request.user, **filters.criteria()).page(**filters.place))


@router.post("/findings/undo", FindingVerdictOut, 409)
@needs("labeller")
def finding_undo(request, body: FindingUndoIn):
    """Undo a verdict of yours, or (admins) of anybody; returns the row that undoes it."""
    return judging.undo(request.user, body.verdict_id)


@router.get("/findings/{value_hash}", FoundValueDetailOut, 404)
@needs("viewer")
def finding_detail(request, value_hash: str):
    """One value with its agents and verdicts.

    Labellers also get the value itself, masked as on its page.
    """
    value = get_object_or_404(FindingValue, value_hash=value_hash)
    held_by = value_pages.find_agents(value)
    readable = [row.agent_id for row in held_by] if request.user.has_role("labeller") else []
    columns = {field.attname: getattr(value, field.attname) for field in value._meta.concrete_fields}
    verdicts = [row for row, _may_undo in value_pages.read_history(value)]
    return columns | {"value": value_pages.find_text(value_hash, readable), "held_by": held_by, "verdicts": verdicts}


@router.get("/findings/{value_hash}/places", Page[FindingPlaceOut], 404, 409, 503)
@needs("viewer")
def finding_places(request, value_hash: str, filters: Query[FindingPlacesQuery]):
    """The places of a value in one agent's texts; labellers also get the text around it."""
    get_object_or_404(FindingValue.objects.only("value_hash"), value_hash=value_hash)
    agent = Agent.objects.filter(agent_id=filters.agent).first()
    if agent is None:
        raise MissingPart("agent")
    with_texts = request.user.has_role("labeller")
    page = value_pages.read_places(value_hash, agent, with_texts=with_texts, **filters.place)
    return page_to_json(page, [_build_place(place) for place in page])


@router.post("/findings/{value_hash}/verdict", FindingVerdictOut, 404, 409)
@needs("labeller")
def finding_verdict(request, value_hash: str, body: FindingVerdictIn):
    """Confirm or dismiss a value, one place of it, or (admins) everything that its rule finds."""
    value = get_object_or_404(FindingValue, value_hash=value_hash)
    return judging.judge(
        request.user, value, body.verdict, scope=body.scope, agent_id=body.agent, finding_id=body.finding,
        notes=body.notes,
    )  # fmt: skip


def _build_place(place: value_pages.PlaceOfValue) -> dict:
    fields = {field.attname: getattr(place.finding, field.attname) for field in Finding._meta.concrete_fields}
    excerpt = place.excerpt
    texts = {name: getattr(excerpt, name) if excerpt else None for name in ("before", "value", "after")}
    return fields | texts | {"agent_id": place.agent_id, "place": place.place_id}
