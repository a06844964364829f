"""The API of findings: values with their places, verdicts, and undoing."""

from typing import Literal

from django.shortcuts import get_object_or_404
from ninja import Query
from pydantic import Field

from agents.models import Agent
from findings.models import Finding
from openclaw_web.detectors.spans import KINDS
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query
from openclaw_web.pages.not_found_page import MissingPart
from openclaw_web.pages.roles import needs

from ..forms import LONGEST_NOTES
from ..models import FindingValue, FindingVerdict
from ..review import claims
from ..review.undo import undo_value_verdict
from . import value_list, verdicts
from .value_list import VALUES, ValueFilters

FoundKind = Literal[KINDS]
NO_NUL = r"^[^\x00]*$"
MASKED = "of keys and passwords only a few characters; null below labeller, and where the text has changed"


class FoundValueQuery(list_query(ValueFilters)):
    pass


class FoundValueOut(table_schema(FindingValue)):
    pass


class FindingVerdictOut(table_schema(FindingVerdict)):
    pass


class FindingAgentOut(Schema):
    """An agent in whose texts a value stands."""

    agent_id: str
    places: int


class ValueHolderOut(Schema):
    name: str
    seconds: int = Field(description="remaining time of their claim if they leave now")


class FoundValueDetailOut(FoundValueOut):
    value: str | None = Field(description=MASKED)
    held_by: list[FindingAgentOut]
    verdicts: list[FindingVerdictOut] = Field(description="on the value, its places and its rule: the last 50")
    open_with: ValueHolderOut | None = Field(
        description="another reviewer who has its page open: nobody else can judge it; null below labeller"
    )


class FindingPlacesQuery(PageQuery):
    agent: str = Field(max_length=56, description="whose texts")
    limit: int = Field(20, ge=1, le=50)


class FindingPlaceOut(table_schema(Finding)):
    id: int = Field(description="of the finding, in the file of its agent")
    state: Literal["open", "confirmed", "dismissed", "added"]
    agent_id: str
    place: str = Field(description="the source and its id, as verdicts on a place name it")
    before: str | None = Field(description="the text before the value; null as for `value`")
    value: str | None = Field(description=MASKED)
    after: str | None = Field(description="the text after the value")


class FindingVerdictIn(Body):
    verdict: Literal["confirmed", "dismissed"]
    scope: Literal["value", "place", "rule"] = Field(
        "value", description="the value wherever it stands, the place of one finding, or its rule (admins)"
    )
    agent: str = Field("", max_length=56, description="with `place`: the agent of the finding")
    finding: int | None = Field(None, ge=0, lt=2**53, description="with `place`: the id of the finding")
    notes: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    expected_state: Literal["", "open", "confirmed", "dismissed"] = Field(
        "", description="with `value`: refuse if the state has changed from this"
    )


class FindingUndoIn(Body):
    verdict_id: str = Field("", max_length=40, description="empty: your last verdict on findings")


class RulePrecisionOut(Schema):
    """A rule by the verdicts of people on its values; what a verdict on the whole rule decided does not count."""

    rule: str
    kind: FoundKind
    confirmed: int
    dismissed: int
    share: float = Field(description="of confirmed values among the judged ones, 0 to 1")


class RulePrecisionsOut(Schema):
    rules: list[RulePrecisionOut]


router = Operations("findings_api", tags=["findings"])


@router.get("/findings", Page[FoundValueOut], 409)
@needs("viewer")
def finding_list(request, filters: Query[FoundValueQuery]):
    """The values found in texts, without the values themselves, newest first."""
    return page_to_json(VALUES.fits(request.user, **filters.criteria()).page(**filters.place))


@router.get("/findings/rules", RulePrecisionsOut)
@needs("viewer")
def finding_rules(request):
    """The rules of whose values people judged some, the most judged first."""
    return {"rules": [row._asdict() | {"share": row.share} for row in value_list.measure_rules().values()]}


@router.post("/findings/undo", FindingVerdictOut, 409)
@needs("labeller")
def finding_undo(request, body: FindingUndoIn):
    """Undo a verdict of yours, or (admins) of anybody; returns the row that undoes it."""
    return undo_value_verdict(request.user, body.verdict_id)


@router.get("/findings/{value_hash}", FoundValueDetailOut, 404)
@needs("viewer")
def finding_detail(request, value_hash: str):
    """One value with its agents and verdicts.

    Labellers also get the value itself, masked as on its page.
    """
    value = get_object_or_404(FindingValue, value_hash=value_hash)
    held_by = value_list.find_agents(value)
    may_judge = request.user.has_role("labeller")
    columns = {field.attname: getattr(value, field.attname) for field in value._meta.concrete_fields}
    return columns | {
        "value": value_list.find_text(value_hash, [row.agent_id for row in held_by] if may_judge else []),
        "held_by": held_by,
        "verdicts": [row for row, _may_undo in verdicts.read_history(value)],
        "open_with": claims.find_holder(value_hash, besides=request.user.username) if may_judge else None,
    }


@router.get("/findings/{value_hash}/places", Page[FindingPlaceOut], 404, 409, 503)
@needs("viewer")
def finding_places(request, value_hash: str, filters: Query[FindingPlacesQuery]):
    """The places of a value in one agent's texts; labellers also get the text around it."""
    get_object_or_404(FindingValue.objects.only("value_hash"), value_hash=value_hash)
    agent = Agent.objects.filter(agent_id=filters.agent).first()
    if agent is None:
        raise MissingPart("agent")
    with_texts = request.user.has_role("labeller")
    page = value_list.read_places(value_hash, agent, with_texts=with_texts, **filters.place)
    return page_to_json(page, [_build_place(place) for place in page])


@router.post("/findings/{value_hash}/verdict", FindingVerdictOut, 404, 409)
@needs("labeller")
def finding_verdict(request, value_hash: str, body: FindingVerdictIn):
    """Confirm or dismiss a value, one place of it, or (admins) everything that its rule finds."""
    value = get_object_or_404(FindingValue, value_hash=value_hash)
    return verdicts.judge(
        request.user, value, body.verdict, scope=body.scope, agent_id=body.agent, finding_id=body.finding,
        notes=body.notes, expected=body.expected_state,
    )  # fmt: skip


def _build_place(place: value_list.PlaceOfValue) -> dict:
    fields = {field.attname: getattr(place.finding, field.attname) for field in Finding._meta.concrete_fields}
    excerpt = place.excerpt
    texts = {name: getattr(excerpt, name) if excerpt else None for name in ("before", "value", "after")}
    return fields | texts | {"state": place.state, "agent_id": place.agent_id, "place": place.place_id}
