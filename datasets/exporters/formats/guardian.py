"""The task `guardian`: from a fact and a file to write_guardian's answer with the new file."""

from ..changes import DECISION_FLATTENED, NO_CHANGES, OVER_THE_BUDGET, Changes
from ..samples import ExportSample
from ..writes import WriteAnswer, format_answer, format_question, join_lines

INSTRUCTION = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)


def format_texts(sample: ExportSample, write_answer: WriteAnswer, characters: int) -> tuple[str, str, Changes]:
    """Question and answer of a sample that is a write, and the changes to them.

    Both stay whole, however long: a file with missing lines would teach to lose lines.
    """
    question_text, answer_text = format_question(sample.write) if sample.write else "", format_answer(write_answer)
    is_long = len(INSTRUCTION) + len(question_text) + len(answer_text) > characters
    is_flat = any(join_lines(text) != text for text in (sample.write.fact if sample.write else "", write_answer.reason))
    done = [name for name, is_so in ((OVER_THE_BUDGET, is_long), (DECISION_FLATTENED, is_flat)) if is_so]
    return question_text, answer_text, frozenset(done) if done else NO_CHANGES
