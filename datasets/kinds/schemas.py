"""API schemas of verdicts on decisions and writes, and of their samples."""

from typing import Any, Literal

from pydantic import Field

from guardian.corrections import patterns, phrases
from guardian.corrections.schemas import Contains, CorrectionOut, File, Text
from guardian.handover.schemas import HandoverStarted
from guardian.rollbacks.schemas import RolledBackOut
from openclaw_web.endpoints.schemas import Body, Schema

from ..forms import LONGEST_NOTES
from ..review.parts import DECISIONS
from ..schemas import NO_NUL, Status, Type
from ..write_samples.corrected_files import LONGEST_FILE
from ..write_samples.opinions import KINDS, LEAVE, WAYS
from .write import STATUSES


class DecisionSampleIn(Body):
    """A verdict on a decision; only a wrong decision takes a correction."""

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


class WriteSampleIn(Body):
    """A verdict on a write; only a wrong write takes a correction."""

    verdict: Literal["right", "wrong", "none"] = Field(description="`none`: create its sample without a verdict")
    correct_status: Literal[STATUSES] | None = Field(  # type: ignore[valid-type]
        None, description="what would have been right; left out: as a correction or rollback of the write says"
    )
    correct_reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    correct_content: str = Field(
        "", max_length=LONGEST_FILE, pattern=NO_NUL, description="of `written`: the whole file as it should be"
    )


class DecisionSampleOut(Schema):
    sample_id: str
    sample_type: Type
    annotation_status: Status


class WriteSampleOut(DecisionSampleOut):
    pass


class WritesQueuedOut(Schema):
    made: list[str] = Field(description="ids of new samples")
    existing: list[str] = Field(description="ids of writes that have a sample")
    skipped: list[dict[str, Any]] = Field(description="writes that cannot become samples: `id`, `reason`")


class OpinionRuleIn(Body):
    """A rule for facts like that of the write: its words, or a pattern."""

    name: str = Field("", max_length=phrases.LONGEST_NAME, pattern=NO_NUL, description="in words")
    contains: Contains = Field([], max_length=phrases.MOST_LINES, description="one piece of each of these lists")
    pattern: str = Field("", max_length=patterns.LONGEST_PATTERN, pattern=NO_NUL, description="instead of `contains`")


class OpinionIn(Body):
    """One opinion on a write, with a rule and a rollback that follow from it."""

    opinion: Literal[KINDS]  # type: ignore[valid-type]
    reason: str = Field("", **Text, description="of a wrong write: kept with everything that is filed")
    fact: str = Field("", **Text, description="of `should_say`; left out: as it was")
    file: File | None = Field(None, description="of `should_say`; left out: as it was")
    rule: OpinionRuleIn | None = Field(None, description="needs the role operator")
    sample: bool = Field(True, strict=True, description="create the sample where there is none")
    rollback: Literal[WAYS] = Field(  # type: ignore[valid-type]
        LEAVE, description="what becomes of the file; needs the role operator; `write_now`: knowing the effect"
    )
    seen: str | None = Field(None, description="of the preview; null: nobody saw one")
    put_back: bool = Field(False, strict=True, description="of `hand_over`: as for a handover")


class OpinionOut(Schema):
    """The stored opinion, and the result of its rollback.

    A rollback that fails takes back no part of the stored opinion.
    """

    correction: CorrectionOut | None = Field(description="the one that stands; null: none was needed")
    sample_id: str | None
    no_sample: str = Field(description="why the write has no sample; empty: it has one, or none was wanted")
    rolled_back: RolledBackOut | None
    handover: HandoverStarted | None
    failure: str = Field(description="why the rollback was not done; empty: it was, or none was wanted")
