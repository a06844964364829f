"""The outcome of exporting a sample: a row, or a reason for leaving it out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .changes import NO_CHANGES, Changes
from .prompts import NO_PROMPTS, PromptColumns
from .samples import ExportSample

Row = dict[str, Any]
# Reasons for leaving a sample out, besides what `training_rows.find_unfit_reason` says of it alone.
NOT_APPROVED, AFTER_GAP, BEYOND_ROW, SAME_TURN = "not_approved", "after_gap", "beyond_row", "same_turn"
# Without the tool results that it uses, a reply would teach to make results up.
RESTS_ON_TOOLS = "rests_on_tools"
DUPLICATE = "duplicate"
# Samples that are left out unless an option includes them, by columns of a sample: prompts that nobody typed and
# replies that are not sent; words in lines that are not recognized; answers that ended with a tool call; pictures.
INJECTED, UNKNOWN_ENVELOPE, INTERRUPTED, PICTURE = "injected", "unknown_envelope", "interrupted", "picture"


@dataclass(slots=True)
class SampleOutcome:
    """The outcome of one sample: a row and its changes, or the reason in `left_out`.

    `others` are further samples that the row teaches. `given` is what its model was given; `is_undescribed`: the row
    calls a tool that `given` does not describe; `has_calls`: the row calls a tool.
    """

    sample: ExportSample
    row: Row | None
    changes: Changes = NO_CHANGES
    others: Sequence[ExportSample] = ()
    left_out: str = ""
    control_tokens: str = ""  # those in its texts, for formats whose rows have no column for them
    given: PromptColumns = NO_PROMPTS
    is_undescribed: bool = False
    has_calls: bool = False
