"""What the API is told of a decision, and what it says about its sample."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema

from ..forms import LONGEST_NOTES
from ..review.parts import DECISIONS
from ..schemas import NO_NUL, Status, Type


class DecisionSampleIn(Body):
    """Whether a decision is right. What would have been right is for wrong decisions only."""

    verdict: Literal["right", "wrong", "none"] = Field(
        description="`none`: create an `annotated_turn` sample without a verdict on the decision, or without a turn "
        "the decision's own"
    )
    correct_decision: Literal[DECISIONS] | None = Field(  # type: ignore[valid-type]
        None, description="what would have been right; left out: the sample needs review"
    )
    correct_fact: str = Field(
        "", max_length=LONGEST_NOTES, pattern=NO_NUL, description="required unless the decision is `NO_WRITE`"
    )
    correct_reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)


class DecisionSampleOut(Schema):
    sample_id: str
    sample_type: Type
    annotation_status: Status
