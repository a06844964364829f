"""Alpaca rows: an instruction, no input or one, and the output to learn.

No `history` column: a trainer learns the answers in it as well, approved or not, and ShareGPT is the format for
conversations.
"""

from collections.abc import Iterable, Iterator

from .. import changes
from ..changes import NO_CHANGES, REPLY_EDITED, Changes
from ..conversations.spelling import Spelling, Step
from ..conversations.truncation import compute_share, truncate_text
from ..conversations.turns import BranchMessage, Turn, is_judged, split_turns
from ..json_output import dump_json
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import gate, guardian, metadata

COLUMNS = ("instruction", "input", "output", *metadata.PLACE_COLUMNS, *metadata.SCAN_COLUMNS)
Row = dict[str, str]


def build_reply_row(sample: ExportSample, results: str = "", question: str = "") -> tuple[Row, Changes]:
    """The user's words and the reply to learn.

    `results`: the tool results that the reply rests on (see `fold_tool_calls`). `question`: the words of the user where
    they are not those of the sample alone.
    """
    row = {
        "instruction": question or sample.user_text,
        "input": results,
        "output": sample.reply,
        **metadata.build_place(sample),
    }
    return row, metadata.find_trait_changes(sample) if sample.edited_reply is None else metadata.find_trait_changes(
        sample
    ) | {REPLY_EDITED}


def build_gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation and memory_gate's decision about it."""
    conversation_text, changes = gate.format_conversation(sample, characters)
    answer, more = gate.format_answer(decision)
    row = {
        "instruction": gate.INSTRUCTION,
        "input": conversation_text,
        "output": answer,
        **metadata.build_place(sample),
    }
    return row, changes | more | metadata.find_trait_changes(sample)


def build_guardian_row(sample: ExportSample, write_answer: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was, and write_guardian's answer."""
    question, answer, changes = guardian.format_texts(sample, write_answer, characters)
    return {
        "instruction": guardian.INSTRUCTION,
        "input": question,
        "output": answer,
        **metadata.build_place(sample),
    }, changes


def pair_with_turns(
    samples: Iterable[ExportSample],
    messages: Iterable[BranchMessage],
    spelling: Spelling,
    *,
    joins_interrupted: bool = False,
) -> Iterator[tuple[ExportSample, Turn | None]]:
    """Pair each sample of a session with its turn on the branch.

    Samples and messages come in the order of their turns. None stands for a turn that is not there as it was judged.
    """
    turns = split_turns(messages, spelling, joins_interrupted=joins_interrupted)
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < (sample.turn_number or 0):
            turn = next(turns, None)
        yield sample, turn if turn and is_judged(turn, sample) else None


def fold_tool_calls(steps: list[Step], room: int) -> tuple[str, Changes]:
    """Tool calls and their results as one text of about `room` characters, and the changes.

    For formats that have no messages for them. Results are cut to an equal share of the room. Each call is a block, in
    the order of the calls: a line `Tool: exec`, a line `Arguments: {"command":"ls"}`, a line `Result:` and the result;
    an empty line stands between two blocks.
    """
    blocks = [
        (f"Tool: {call.name}\nArguments: {dump_json(call.arguments)}\nResult:\n", result)
        for step in steps
        for call, result in zip(step.calls, step.results, strict=True)
    ]
    done = NO_CHANGES.union(*[step.changes for step in steps]) | {changes.TOOLS_FOLDED}
    size = _count_characters(blocks)
    if size > room:
        results_room = room - (size - sum(len(result) for _, result in blocks))
        share = compute_share(results_room, len(blocks))
        blocks = [(head, truncate_text(result, share)) for head, result in blocks]
        done |= {changes.TOOL_RESULTS_SHORTENED} if _count_characters(blocks) < size else NO_CHANGES
    if _count_characters(blocks) > room:
        done |= {changes.OVER_THE_BUDGET}
    return "\n\n".join(head + result for head, result in blocks), done


def _count_characters(blocks):
    return sum(len(head) + len(result) for head, result in blocks) + 2 * (len(blocks) - 1)
