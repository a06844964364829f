"""The declaration of a signal: one question about a turn, and how a turn answers it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise

from .turn_texts import TurnTexts

RECORD, CALL = "record", "call"  # kinds of places
# The factors of the Reflection spec.
CLARITY, CONFIDENCE, VERIFIABILITY = FACTORS = ("conversationClarity", "decisionConfidence", "factVerifiability")


class State(StrEnum):
    """Answers to the question of a signal; NOT_YET is asked again when a later message may have come."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    NOT_YET = "not_yet"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; a yes names the record, or the call in it, where it was seen. Never its words.

    `kind` is RECORD or CALL, and `place` the id of that. `record` is the id of the record that the call is in.
    """

    state: State
    kind: str = ""
    place: str = ""
    record: str = ""


NO, UNKNOWN, NOT_YET = Answer(State.NO), Answer(State.UNKNOWN), Answer(State.NOT_YET)


@dataclass(frozen=True, slots=True)
class Signal:
    """A fault that a turn may have. Yes lowers the `factor` of the score by its share of the weights there.

    `bit` is its place in the columns of `turn_signals` and is never used again for another signal. Whoever changes
    `answer`, `factor` or `weight` raises `version`: then every turn is asked again.
    """

    name: str
    bit: int
    version: int
    factor: str
    weight: float
    answer: Callable[[TurnTexts], Answer]
    question: Promise


def build_yes(texts: TurnTexts) -> Answer:
    """A yes that was seen in the reply."""
    return Answer(State.YES, RECORD, texts.reply_id, texts.reply_id)
