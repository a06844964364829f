"""API schemas of corrections and rules."""

from typing import Annotated, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..files import LONGEST_FACT, MEMORY_FILES
from ..models import BehaviorCorrection
from . import patterns
from .correction_store import STATUSES

NO_NUL = r"^[^\x00]*$"
Text = {"max_length": LONGEST_FACT, "pattern": NO_NUL}
Corrected = Literal[STATUSES]  # type: ignore[valid-type]
File = Literal[MEMORY_FILES]  # type: ignore[valid-type]


Piece = Annotated[str, Field(min_length=1, max_length=patterns.LONGEST_PIECE, pattern=NO_NUL)]
Contains = list[Annotated[list[Piece], Field(min_length=1, max_length=patterns.MOST_ALTERNATIVES)]]


class CorrectionIn(Body):
    """A correction: what a write should have been."""

    status: Corrected
    fact: str | None = Field(None, **Text, description="left out: as it was")
    file: File | None = Field(None, description="left out: as it was")
    reason: str = Field(min_length=1, **Text)
    apply_to_future: bool = Field(False, strict=True, description="make a rule of it; needs the role operator")
    name: str = Field("", max_length=patterns.LONGEST_NAME, pattern=NO_NUL, description="of the rule, in words")
    contains: Contains = Field(
        [],
        max_length=patterns.MOST_LINES,
        description="for `apply_to_future`: the facts contain one piece of each of these lists; instead of `pattern`",
    )
    pattern: str = Field(
        "",
        max_length=patterns.LONGEST_PATTERN,
        pattern=NO_NUL,
        description="of RE2, for `apply_to_future`: which facts the rule is about, each line of it; left out: proposed",
    )


class CorrectionOut(table_schema(BehaviorCorrection)):
    original_fact: str | None
    original_file: str | None
    corrected_fact: str | None
    corrected_file: str | None
    reason: str
    pattern: str | None
    name: str = Field(description="of a rule, in words; empty for a correction that is none")
    contains: list[list[str]] | None = Field(description="the words of a rule in words; null: its pattern says it")


class RuleOut(CorrectionOut):
    """A correction that is a rule."""

    is_on: bool
    is_replaced: bool = Field(description="its write was corrected again: it cannot be switched on")
    switched_off_at: int | None
    switched_off_by: str | None
    acted: int | None = Field(description="writes that name it; null: counting them takes too long")
    overruled: int | None = Field(description="of these, writes that a later correction says something else of")


class RuleSwitchIn(Body):
    is_on: bool = Field(strict=True)


class CheckIn(Body):
    """A fact that somebody is about to write."""

    fact: str = Field(min_length=1, **Text)
    file: File


class CheckOut(Schema):
    """The ruling on a fact.

    Without a rule, the fact may be written as it is.
    """

    status: Corrected
    fact: str
    file: str
    rule_id: str | None
    reason: str | None = Field(description="the reason of the rule's correction")
