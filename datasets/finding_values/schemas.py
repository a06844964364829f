"""API schemas of findings: values, their places, and verdicts."""

from typing import Literal

from pydantic import Field

from findings.models import Finding
from openclaw_web.detectors.spans import KINDS
from openclaw_web.endpoints.schemas import LARGEST_FIRST, Body, PageQuery, Schema, TimeRangeQuery
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import FindingValue, FindingVerdict
from .forms import LONGEST_NOTES
from .value_list import ValueFilters

FoundKind = Literal[KINDS]
NO_NUL = r"^[^\x00]*$"
MASKED = "of keys and passwords only a few characters; null below labeller, and where the text has changed"


class FoundValueQuery(TimeRangeQuery):
    kind: FoundKind | None = None
    state: Literal["open", "confirmed", "dismissed"] | None = None
    agent: str | None = Field(None, max_length=56)
    rule: str | None = Field(None, max_length=100)
    sort: Literal[ValueFilters.sorts()] = Field(ValueFilters.DEFAULT, description=LARGEST_FIRST)


class FoundValueOut(table_schema(FindingValue)):
    pass


class FindingVerdictOut(table_schema(FindingVerdict)):
    pass


class FindingAgentOut(Schema):
    """An agent in whose texts a value stands."""

    agent_id: str
    places: int


class FoundValueDetailOut(FoundValueOut):
    value: str | None = Field(description=MASKED)
    held_by: list[FindingAgentOut]
    verdicts: list[FindingVerdictOut] = Field(description="on the value, its places and its rule: the last 50")


class FindingPlacesQuery(PageQuery):
    agent: str = Field(max_length=56, description="whose texts")
    limit: int = Field(20, ge=1, le=50)


class FindingPlaceOut(table_schema(Finding)):
    id: int = Field(description="of the finding, in the file of its agent")
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


class FindingUndoIn(Body):
    verdict_id: str = Field("", max_length=40, description="empty: your last verdict on findings")
