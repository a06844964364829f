"""Statistics of samples and verdicts over the JSON API."""

from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from . import figures
from .schemas import DatasetStatisticsOut, DatasetStatisticsQuery

router = Operations("datasets_statistics_api", tags=["samples"])


@router.get("/datasets/statistics", DatasetStatisticsOut, 409, 503)
@needs("viewer")
def dataset_statistics(request, filters: Query[DatasetStatisticsQuery]):
    """Samples and verdicts by day, type, status, score and person."""
    statistics = figures.read_statistics(figures.resolve_period(filters.first_day, filters.last_day))
    return figures.statistics_to_json(statistics)
