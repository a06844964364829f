"""Which exporter makes the rows of a format and task."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from .changes import NONE
from .conversations import histories, walks
from .conversations.turns import Said
from .formats import alpaca, gate, sharegpt
from .made import DUPLICATE, Made
from .samples import ExportSample

NO_DECISION, DECISION_INCORRECT, DECISION_UNKNOWN = "no_decision", "decision_incorrect", "decision_unknown"


@dataclass(frozen=True, slots=True)
class Shape:
    """What rows are made: their format and task, how long one may be, where words before a tool call go.

    `history`: what stands before a reply, one of histories.HISTORIES. `gate_output`: how a decision is spelled, one of
    gate.OUTPUTS. A turn with a change of `withheld` goes into no
    row but its own.
    """

    format: str
    task: str
    row_characters: int = 32_000
    keep_text: bool = False
    history: str = histories.EDITED
    gate_output: str = gate.LINES
    withheld: Set[str] = NONE

    @property
    def needs_branch(self) -> bool:
        """Whether a row tells more than its sample holds."""
        return self.format == "sharegpt" and self.task == "reply"


def unfit(shape: Shape, sample: ExportSample) -> str | None:
    """Why a sample has nothing to teach for this task; None when it has."""
    if shape.task != "gate":
        return None
    if sample.is_gate_wrong:
        return DECISION_INCORRECT
    if not sample.gate:
        return NO_DECISION
    return None if sample.gate.decision in gate.DECISIONS else DECISION_UNKNOWN


def rows_of(shape: Shape, samples: Iterable[ExportSample], messages: Iterable[Said] = ()) -> Iterator[Made]:
    """The rows of one session's samples, in the order of their turns; `messages` is its branch, where rows need it."""
    if shape.needs_branch:
        for found in walks.told(
            samples,
            messages,
            characters=shape.row_characters,
            keep_text=shape.keep_text,
            history=shape.history,
            withheld=shape.withheld,
        ):
            row = None if found.exchanges is None else sharegpt.row(found.sample, found.exchanges)
            yield Made(found.sample, row, found.changes, found.others, found.left_out)
        return
    for sample in samples:
        if sample.is_duplicate:
            yield Made(sample, None, left_out=DUPLICATE)
        elif shape.task == "reply":
            yield Made(sample, *alpaca.reply_row(sample))
        elif sample.gate:
            exporter = alpaca if shape.format == "alpaca" else sharegpt
            wanted = {"characters": shape.row_characters, "output": shape.gate_output}
            yield Made(sample, *exporter.gate_row(sample, sample.gate, **wanted))
