"""ShareGPT rows: a conversation up to a turn, ending with the reply to learn."""

from collections.abc import Sequence

from ..changes import Changes
from ..conversations.exchanges import AGENT, HUMAN, Conversation, Exchange
from ..made import Row
from ..prompts import NOTHING, SYSTEM, TOOLS, Given
from ..samples import ExportSample, GateAnswer
from . import gate, metadata

COLUMNS = ("conversations", "system", "tools", *metadata.PLACE, *metadata.JUDGEMENT)


def gate_row(
    sample: ExportSample, decision: GateAnswer, *, characters: int, output: str = gate.LINES
) -> tuple[Row, Changes]:
    """The conversation as one question, and memory_gate's decision as its answer."""
    said, done = gate.conversation(sample, characters)
    question = {"from": HUMAN, "value": f"{gate.INSTRUCTION}\n{said}"}
    answer, more = gate.answer(decision, output)
    return row(sample, [Exchange([question, {"from": AGENT, "value": answer}], done)]), more


def row(sample: ExportSample, exchanges: Sequence[Exchange], given: Given = NOTHING) -> Row:
    """The conversation that ends with the reply of a sample, and what the model was given before it."""
    return {
        "conversations": Conversation(list(exchanges)),
        "system": given.text(SYSTEM),
        "tools": given.text(TOOLS),
        **metadata.place(sample),
        **metadata.judgement(sample),
    }
