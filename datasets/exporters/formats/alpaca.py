"""Alpaca rows: an instruction, no input or one, and the output to learn.

No `history` column: a trainer learns the answers in it as well, approved or not, and ShareGPT is the format for
conversations.
"""

from ..changes import REPLY_EDITED, Changes
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import gate, guardian, metadata

COLUMNS = ("instruction", "input", "output", *metadata.PLACE, *metadata.NOTED)
Row = dict[str, str]


def reply_row(sample: ExportSample, results: str = "", asked: str = "") -> tuple[Row, Changes]:
    """What the user said and the reply to learn; `results`: what the reply rests on (see conversations.folding).

    `asked`: the words of the user where they are not those of the sample alone.
    """
    row = {"instruction": asked or sample.user_text, "input": results, "output": sample.reply, **metadata.place(sample)}
    return row, metadata.told(sample) if sample.edited_reply is None else metadata.told(sample) | {REPLY_EDITED}


def gate_row(
    sample: ExportSample, decision: GateAnswer, *, characters: int, output: str = gate.LINES
) -> tuple[Row, Changes]:
    """The conversation and memory_gate's decision about it."""
    said, changes = gate.conversation(sample, characters)
    answer, more = gate.answer(decision, output)
    row = {
        "instruction": gate.INSTRUCTION,
        "input": said,
        "output": answer,
        **metadata.place(sample),
    }
    return row, changes | more | metadata.told(sample)


def guardian_row(sample: ExportSample, found: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was, and what write_guardian should do."""
    asked, answered, changes = guardian.texts(sample, found, characters)
    return {"instruction": guardian.INSTRUCTION, "input": asked, "output": answered, **metadata.place(sample)}, changes
