"""What becomes of a sample: a row, or a reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .changes import NO_CHANGES, Changes
from .prompts import NO_PROMPTS, PromptColumns
from .samples import ExportSample

Row = dict[str, Any]
# Why a sample is in no row, beside what `training_rows.unfit` says of it alone.
NOT_APPROVED, AFTER_GAP, BEYOND_ROW, SAME_TURN = "not_approved", "after_gap", "beyond_row", "same_turn"
# Without what tools returned, a reply that uses it would teach to make results up.
RESTS_ON_TOOLS = "rests_on_tools"
DUPLICATE = "duplicate"
# What is left out unless somebody asks for it, by columns of a sample: prompts that nobody typed and replies that are
# not sent; words in lines that are not recognized; answers that ended with a call of a tool; pictures.
INJECTED, UNKNOWN_ENVELOPE, INTERRUPTED, PICTURE = "injected", "unknown_envelope", "interrupted", "picture"


@dataclass(slots=True)
class SampleOutcome:
    """A row with what was done to it, and other samples that it teaches too; or `left_out`, and no row.

    `given` is what its model was given; `is_undescribed`: it calls a tool that `given` does not describe.
    """

    sample: ExportSample
    row: Row | None
    changes: Changes = NO_CHANGES
    others: Sequence[ExportSample] = ()
    left_out: str = ""
    control_tokens: str = ""  # those in its texts, for formats whose rows have no column for them
    given: PromptColumns = NO_PROMPTS
    is_undescribed: bool = False
