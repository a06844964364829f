"""What the API is told of a write, and what it says about its sample."""

from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Body

from ..forms import LONGEST_NOTES
from ..schemas import NO_NUL, Status, Type
from .seen import LONGEST_FILE, STATUSES


class WriteSampleIn(Body):
    """Whether a write is right. What would have been right is for wrong writes only."""

    verdict: Literal["right", "wrong", "none"] = Field(description="`none`: create its sample without a verdict")
    correct_status: Literal[STATUSES] | None = Field(  # type: ignore[valid-type]
        None, description="what would have been right; left out: as a correction or rollback of the write says"
    )
    correct_reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    correct_content: str = Field(
        "", max_length=LONGEST_FILE, pattern=NO_NUL, description="of `written`: the whole file as it should be"
    )


class WriteSampleOut(Schema):
    sample_id: str
    sample_type: Type
    annotation_status: Status


class WritesQueuedOut(Schema):
    made: list[str] = Field(description="ids of new samples")
    existing: list[str] = Field(description="ids of writes that have a sample")
    skipped: list[dict[str, Any]] = Field(description="writes that cannot become samples: `id`, `reason`")
