"""Pairs of answers to one question: what people judged to be right, and what was said.

The question of both is one by construction: only the answer of a sample has two versions.
"""

from dataclasses import dataclass

from .formats import gate
from .samples import ExportSample
from .writes import WRITTEN
from .writes import format_answer as format_write

# Reasons for a sample without a pair.
NO_PAIR, SAME_ANSWER = "no_pair", "same_answer"
REPLY, GATE = "reply", "gate"


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to one question; both have text."""

    chosen: str
    rejected: str


def find_pair(task: str, sample: ExportSample) -> AnswerPair | None:
    """The pair of a sample for a task; None where nobody corrected the answer.

    It is of an edit, or of the correction of a decision or a write; a write that was rolled back has one.
    """
    chosen, rejected = _find_answers(task, sample)
    return AnswerPair(chosen, rejected) if chosen.strip() and rejected.strip() else None


def _find_answers(task, sample):
    """The corrected and the original answer as texts, empty where there is none."""
    if task == REPLY:
        return sample.edited_reply or "", sample.agent_reply
    if task == GATE:
        answers = (sample.gate, sample.said_gate)
        return tuple(gate.format_answer(answer)[0] if answer else "" for answer in answers)
    return tuple(format_write(answer) if answer else "" for answer in (sample.guardian, sample.said_guardian))


def find_pairless_reason(task: str, sample: ExportSample) -> str:
    """Why a sample has no pair to learn; empty where it has one.

    NO_PAIR, or SAME_ANSWER where blanks alone differ.
    """
    pair = find_pair(task, sample)
    if pair is None or (task not in (REPLY, GATE) and _is_unknown(sample)):
        return NO_PAIR
    return SAME_ANSWER if "".join(pair.chosen.split()) == "".join(pair.rejected.split()) else ""


def _is_unknown(sample):
    """Whether nobody knows which file a write left: there is no whole answer to reject."""
    original = sample.said_guardian
    return original is not None and original.status == WRITTEN and original.content is None
