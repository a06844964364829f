"""Counts of signals over the JSON API."""

from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from ..statistics.api import ScoreRangeOut
from . import summary


class QualityQuery(Schema):
    agent: str = Field("", max_length=64, description="only turns of this agent")


class SignalOut(Schema):
    name: str
    factor: str
    yes: int
    no: int
    unknown: int
    not_yet: int = Field(description="turns of which a later message may still say")


class QualityOut(Schema):
    turns: int = Field(description="turns with an answer")
    closed: int = Field(description="turns without any: OpenClaw began them, or a sender opted out")
    signals: list[SignalOut]
    scores: list[ScoreRangeOut] = Field(description="turns by score")
    unscored_samples: int = Field(description="samples without a score")


router = Operations("datasets_quality_api", tags=["samples"])


@router.get("/datasets/quality", QualityOut)
@needs("viewer")
def dataset_quality(request, filters: Query[QualityQuery]):
    """Turns by their answers to each signal, and by score."""
    return summary.summarise(filters.agent)
