"""The tasks `gate` and `guardian` as exchanges of messages."""

from ..changes import Changes
from ..conversations.exchanges import Exchange
from ..conversations.spelling import Spelling
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import gate, guardian


def build_gate_exchange(
    sample: ExportSample, decision: GateAnswer, spelling: Spelling, *, characters: int
) -> tuple[Exchange, Changes]:
    """The conversation as a question, memory_gate's decision as its answer, and the changes.

    `characters`: the longest question.
    """
    conversation_text, done = gate.format_conversation(sample, characters)
    answer, more = gate.format_answer(decision)
    return _build_exchange(sample, f"{gate.INSTRUCTION}\n{conversation_text}", answer, done, spelling), more


def build_guardian_exchange(
    sample: ExportSample, write_answer: WriteAnswer, spelling: Spelling, *, characters: int
) -> tuple[Exchange, Changes]:
    """The fact and the file as a question, write_guardian's answer, and the changes."""
    question, answer, done = guardian.format_texts(sample, write_answer, characters)
    return _build_exchange(sample, f"{guardian.INSTRUCTION}\n{question}", answer, done, spelling), done


def _build_exchange(sample, question, answer, done, spelling):
    own = spelling.build_own_answer(sample, answer)
    return Exchange([spelling.build_question(question), own], done, spelling)
