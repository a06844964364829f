"""Statistics of samples and verdicts over the JSON API."""

from datetime import date

from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from . import figures


class DatasetStatisticsQuery(Schema):
    first_day: date | None = Field(
        None, alias="from", description="the first UTC day; default: 30 days up to the last day"
    )
    last_day: date | None = Field(
        None,
        alias="to",
        description="the last UTC day, included; default: that of the newest sample or verdict, today with a first day",
    )


class StatisticsPartOut(Schema):
    first_day: date
    last_day: date
    created: int = Field(description="samples that were created")
    verdicts: int = Field(description="verdicts that were given and not undone; one for each sample of a bulk action")
    approved: int = Field(description="of these verdicts")
    rejected: int = Field(description="of these verdicts")


class TypeAndStatusOut(Schema):
    type: str
    status: str | None = Field(description="null: the only verdict was undone")
    count: int


class ScoreRangeOut(Schema):
    at_least: float
    below: float = Field(description="1 is in the last range")
    count: int


class LabellerOut(Schema):
    name: str
    verdicts: int
    approved: int
    rejected: int
    approve_share: float | None = Field(description="of approvals and rejections, 0 to 1; null: there is neither")
    median_seconds: int | None = Field(
        description="median of the latest 1,000 verdicts: since the action before, at most ten minutes; null: unknown"
    )


class DatasetStatisticsOut(Schema):
    first_day: date
    last_day: date
    created: int = Field(description="samples that were created on these days")
    verdicts: int = Field(description="verdicts that were given on these days and not undone")
    days: list[StatisticsPartOut] = Field(description="by day; with more than 100 days by ISO week")
    types: dict[str, int] = Field(description="created samples by type")
    statuses: dict[str, int] = Field(description="created samples by status; `undone`: the only verdict was undone")
    types_and_statuses: list[TypeAndStatusOut] = Field(description="created samples by both")
    quality: list[ScoreRangeOut] | None = Field(description="all samples by score; null: no sample has a score yet")
    labellers: list[LabellerOut]


router = Operations("datasets_statistics_api", tags=["samples"])


@router.get("/datasets/statistics", DatasetStatisticsOut, 409, 503)
@needs("viewer")
def dataset_statistics(request, filters: Query[DatasetStatisticsQuery]):
    """Samples and verdicts by day, type, status, score and person."""
    statistics = figures.read_statistics(figures.resolve_period(filters.first_day, filters.last_day))
    return figures.statistics_to_json(statistics)
