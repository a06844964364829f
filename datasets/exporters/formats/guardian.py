"""The task `guardian`: from a fact and a file to what write_guardian should do, and the file as it should be."""

from ..changes import DECISION_FLATTENED, NO_CHANGES, OVER_THE_BUDGET, Changes
from ..samples import ExportSample
from ..writes import WriteAnswer, format_answer, format_question, join_lines

INSTRUCTION = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)


def format_texts(sample: ExportSample, found: WriteAnswer, characters: int) -> tuple[str, str, Changes]:
    """Question and answer of a sample that is a write, and what was done to them.

    Nothing is cut, however long: a file that is not whole teaches to lose lines.
    """
    asked, answered = format_question(sample.write) if sample.write else "", format_answer(found)
    is_long = len(INSTRUCTION) + len(asked) + len(answered) > characters
    is_flat = any(join_lines(text) != text for text in (sample.write.fact if sample.write else "", found.reason))
    done = [name for name, is_so in ((OVER_THE_BUDGET, is_long), (DECISION_FLATTENED, is_flat)) if is_so]
    return asked, answered, frozenset(done) if done else NO_CHANGES
