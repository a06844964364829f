"""API of coverage: shares beside the traffic, prices, and the samples to judge next."""

from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.lists.filter_line import LONGEST
from openclaw_web.pages.roles import needs

from ..exports.options import LONGEST_NAME
from .shares import MOST_NEXT, build_scope
from .words import build_report

router = Operations("datasets_coverage_api", tags=["datasets"])


class CoverageQuery(Schema):
    dataset: str = Field("", max_length=LONGEST_NAME, description="name or id; leave out for a filter alone")
    number: int | None = Field(None, ge=1, description="of a release; else the approved samples that fit now")
    task: str = Field("reply", max_length=20, description="without a dataset: reply, gate or guardian")
    sample_filter: str = Field("", max_length=LONGEST, description="without a dataset: of the list of samples")
    next: int = Field(0, ge=0, le=MOST_NEXT, description="how many samples to judge next")


class BucketOut(Schema):
    dimension: str
    name: str = Field(description="empty: none, or not known")
    label: str
    count: int
    share: float = Field(description="of the samples, 0 to 1")
    traffic: float | None = Field(description="share of the turns that could be samples; null: traffic has none")
    is_gap: bool


class PriceOut(Schema):
    agent_id: str
    month: str = Field(description="UTC, of the turn; empty: its turn is not stored any more")
    samples: int
    turn_cost: float = Field(description="US dollars of the turns behind these samples, each counted once")
    turn_tokens: int
    turn_unpriced: int
    cost: float = Field(description="US dollars of all turns of the agent in the month, as on the overview")
    tokens: int
    unpriced: int = Field(description="tokens of calls whose cost is unknown")
    per_sample: float | None = Field(description="all cost for each sample; null: no samples")


class PickOut(Schema):
    sample_id: str
    reason: str = Field(description="the gap that it fills")


class CoverageOut(Schema):
    samples: int
    turns: int = Field(description="of the same agents and days that could be samples")
    first_day: str
    last_day: str
    is_estimated: bool = Field(description="of many samples or turns, some thousands were read, evenly spread")
    buckets: list[BucketOut]
    price: PriceOut | None = Field(description="the sum of `prices`; null: more than 20,000 samples")
    prices: list[PriceOut] | None
    next: list[PickOut]


@router.get("/datasets/coverage", CoverageOut, 409)
@needs("viewer")
def dataset_coverage(request, filters: Query[CoverageQuery]):
    """The shares of a dataset's samples beside its agents' traffic, gaps, prices, and samples that fill the gaps."""
    scope = build_scope(filters.dataset, filters.number, filters.task, filters.sample_filter)
    return build_report(scope, filters.next)
