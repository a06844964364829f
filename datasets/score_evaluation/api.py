"""The report on the quality score over the JSON API."""

from typing import Literal

from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from ..quality.api import QualityQuery
from . import evaluation


class AreaOut(Schema):
    value: float = Field(description="the area under the ROC curve, 0 to 1; 0.5 is chance")
    low: float = Field(description="of the 95% interval (DeLong)")
    high: float


class ShareOut(Schema):
    count: int
    hits: int = Field(description="approved ones; of a signal that says yes, rejected ones")
    share: float | None = Field(description="null: none was counted")
    interval: tuple[float, float] | None = Field(description="95% interval (Wilson)")


class MeasuredOut(Schema):
    verdicts: int
    approved: int
    state: Literal["not_enough", "worthless", "useful"] = Field(
        description="not_enough: under 200 verdicts or 30 of one kind; worthless: the interval includes 0.5 or less, "
        "or is not above the length of the reply alone"
    )
    base_rate: float | None = Field(description="share of approvals; null: no verdict")
    majority: float | None = Field(description="share that is right when every verdict is the more frequent one")
    area: AreaOut | None = Field(description="of the score; null: not enough")
    length: AreaOut | None = Field(description="of the length of the reply alone; below 0.5: shorter ones are approved")


class ScoreGroupOut(MeasuredOut):
    name: str


class CalibrationOut(ShareOut):
    at_least: float
    below: float = Field(description="1 is in the last range")


class SignalReportOut(Schema):
    name: str
    known: int = Field(description="verdicts on turns with an answer to this signal")
    rejected: int = Field(description="rejections among them")
    yes: ShareOut = Field(description="turns with yes, and those of them that were rejected")
    area: AreaOut | None = Field(description="of yes against rejection; null: not enough")


class ModelAreaOut(Schema):
    verdicts: int = Field(description="verdicts on turns that a language model has scored")
    area: AreaOut | None = Field(description="of the model's newest score; null: not enough")


class UncountedOut(Schema):
    waiting: int = Field(description="people have opted out since the turn was checked")
    bulk: int = Field(description="judged with many others at once")
    edited: int = Field(description="the verdict is on a reply that a person wrote")
    unscored: int = Field(description="the turn has no score")


class QualityReportOut(MeasuredOut):
    judged: int = Field(description="samples that a person approved or rejected, at most the newest 10,000")
    is_cut: bool = Field(description="whether there may be more")
    left_out: UncountedOut
    model: ModelAreaOut
    scores: list[CalibrationOut] = Field(description="verdicts on turns by score")
    signals: list[SignalReportOut]
    parts: list[ScoreGroupOut] = Field(description="verdicts on turns, on decisions of memory_gate, and on writes")
    scripts: list[ScoreGroupOut] = Field(description="verdicts on turns by the script of the reply")
    guidelines: list[ScoreGroupOut] = Field(
        description="verdicts in review queues by queue and version of its guideline; the first 50"
    )


router = Operations("datasets_score_evaluation_api", tags=["samples"])


@router.get("/datasets/quality/report", QualityReportOut)
@needs("viewer")
def dataset_quality_report(request, filters: Query[QualityQuery]):
    """The quality score against verdicts of people: area under the ROC curve, calibration, signals, baselines."""
    return evaluation.evaluate_score(filters.agent)
