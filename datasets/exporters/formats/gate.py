"""The task `gate`: from a conversation to memory_gate's decision."""

from collections.abc import Iterable

from ..changes import CONTEXT_SHORTENED, DECISION_FLATTENED, HISTORY_SHORTENED, NO_CHANGES, OVER_THE_BUDGET, Changes
from ..samples import ExportSample, GateAnswer, Pair

INSTRUCTION = (
    "Based on the following conversation, decide if this should be written to memory and which file it belongs to."
)
DECISIONS = frozenset({"NO_WRITE", "UPDATE_MEMORY", "UPDATE_USER", "UPDATE_SOUL", "UPDATE_IDENTITY", "UPDATE_TOOLS"})
NO_FACT = "none"
SPEAKERS = {"user": "User", "agent": "Agent"}


def format_conversation(sample: ExportSample, characters: int) -> tuple[str, Changes]:
    """The context and the turn as `User: …` and `Agent: …` lines.

    The oldest lines are left out beyond `characters`. Of a turn of which memory_gate saw one message, only that message
    is there.
    """
    context_lines = [_line(pair) for pair in sample.context]
    turn = [_line(pair) for pair in sample.turn]
    room = characters - len(INSTRUCTION) - sum(map(len, turn))
    first = len(context_lines)
    while first and room >= len(context_lines[first - 1]):
        first -= 1
        room -= len(context_lines[first])
    is_shortened = sample.is_context_cut(first)
    checks = ((HISTORY_SHORTENED, first), (OVER_THE_BUDGET, room < 0), (CONTEXT_SHORTENED, is_shortened))
    changes = {name for name, is_so in checks if is_so}
    return "\n".join(context_lines[first:] + turn), frozenset(changes) if changes else NO_CHANGES


def format_answer(gate: GateAnswer) -> tuple[str, Changes]:
    """A decision as a model is to learn it, in three lines, and the changes to it."""
    fact, reason = (" ".join(text.split()) for text in (gate.fact, gate.reason))
    changes = NO_CHANGES if (fact, reason) == (gate.fact, gate.reason) else frozenset({DECISION_FLATTENED})
    return f"Decision: {gate.decision}\nFact: {fact or NO_FACT}\nReason: {reason}", changes


def format_lines(pairs: Iterable[Pair]) -> str:
    """A conversation as `User: …` and `Agent: …` lines."""
    return "\n".join(map(_line, pairs))


def _line(pair: Pair) -> str:
    role, text = pair
    return f"{SPEAKERS[role]}: {text}"
