"""The tool calls of a turn and their results as one text: for formats that have no messages for them.

    Tool: exec
    Arguments: {"command":"ls"}
    Result:
    notes.md

One block for each call, in the order of the calls, an empty line between two.
"""

from collections.abc import Iterable, Iterator

from .. import changes
from ..changes import NONE, Changes
from ..cleaning import json_text
from ..samples import ExportSample
from .cutting import share_of, shortened
from .spelling import Spelling, Step
from .turns import Said, Turn, is_judged, turns_of


def turns_beside(
    samples: Iterable[ExportSample], messages: Iterable[Said], spelling: Spelling, *, joins_interrupted: bool = False
) -> Iterator[tuple[ExportSample, Turn | None]]:
    """Each sample of a session with its turn on the branch; None when it is not there as it was judged.

    Both come in order.
    """
    turns = turns_of(messages, spelling, joins_interrupted=joins_interrupted)
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < (sample.turn_number or 0):
            turn = next(turns, None)
        yield sample, turn if turn and is_judged(turn, sample) else None


def folded(steps: list[Step], room: int) -> tuple[str, Changes]:
    """Calls and results in about `room` characters, and what was done: results are cut to an equal share of it."""
    blocks = [
        (f"Tool: {call.name}\nArguments: {json_text(call.arguments)}\nResult:\n", result)
        for step in steps
        for call, result in zip(step.calls, step.results, strict=True)
    ]
    done = NONE.union(*[step.changes for step in steps]) | {changes.TOOLS_FOLDED}
    size = _size(blocks)
    if size > room:
        left = room - (size - sum(len(result) for _, result in blocks))
        share = share_of(left, len(blocks))
        blocks = [(head, shortened(result, share)) for head, result in blocks]
        done |= {changes.TOOL_RESULTS_SHORTENED} if _size(blocks) < size else NONE
    if _size(blocks) > room:
        done |= {changes.OVER_THE_BUDGET}
    return "\n\n".join(head + result for head, result in blocks), done


def _size(blocks):
    return sum(len(head) + len(result) for head, result in blocks) + 2 * (len(blocks) - 1)
