"""What a sample of a decision holds: the Reflection spec's MemoryGatePositiveSample and MemoryGateNegativeSample.

A decision has one such sample. It is a positive one while people say that the decision is right, and becomes a
negative one when somebody says that it is wrong: two that contradict each other cannot be.

Ours beside the spec's fields: the reasons, the fact that would have been right, how many messages at the end of the
conversation are the turn's own (`turnMessages`), and whether the window is one that nobody told of (`windowDerived`).
"""

from typing import Any

import orjson

from gate.models import MemoryGateDecision
from gate.recording.windows import Window

from ..exporters.samples import NEGATIVE, POSITIVE, GateAnswer, decided
from ..review.parts import PartVerdict
from . import window_words

CORRECT = "correct"
# What a verdict decides, and nobody else.
JUDGED = {"type", "rejectionReason", *(f"{how}{what}" for how in ("correct", "incorrect") for what in
          ("Decision", "Fact", "Reason"))}  # fmt: skip


def content(
    decision: MemoryGateDecision, window: Window, *, is_right: bool, was_written: bool | None = None
) -> dict[str, Any]:
    """The sample of a decision before anybody has said what would be right, without envelopes around words.

    `was_written`: what write_guardian made of it, where that is known.
    """
    window = window_words.unwrap_window(window)
    own = [{"role": role, "message": text} for role, text in (("user", window.user), ("agent", window.reply)) if text]
    before = [{"role": message["role"], "message": message["message"]} for message in window.recent]
    said = GateAnswer(decision.decision, decision.reason, decision.candidate_fact or "")
    shared = {
        "conversation": [*before, *own],
        "turnMessages": len(own),
        "windowDerived": decision.is_window_derived,
    }
    shared |= {"messagesLeftOut": window.left_out} if window.left_out else {}
    shared |= {} if was_written is None else {"evidence": {"wasWritten": was_written}}
    return _positive(said, shared) if is_right else _negative(said, None, shared)


def judged(body: dict[str, Any], verdict: PartVerdict) -> tuple[str, str]:
    """Type and content (JSON) of a sample of GATE_TYPES after a verdict on its decision."""
    shared = {name: value for name, value in body.items() if name not in JUDGED}
    said = decided(body) or GateAnswer("", "", "")
    found = _positive(said, shared) if verdict.label == CORRECT else _negative(said, verdict.corrected, shared)
    return found["type"], orjson.dumps(found).decode()


def _positive(said, shared):
    return {
        "type": POSITIVE,
        "correctDecision": said.decision,
        "correctFact": said.fact,
        "correctReason": said.reason,
        "evidence": {},
        **shared,
    }


def _negative(said, corrected, shared):
    """Without a correction nobody knows what would have been right: then it says nothing of that."""
    right = corrected or {}
    return {
        "type": NEGATIVE,
        "incorrectDecision": said.decision,
        "incorrectFact": said.fact,
        "incorrectReason": said.reason,
        "correctDecision": right.get("decision"),
        "correctFact": right.get("candidateFact"),
        "correctReason": right.get("reason"),
        "rejectionReason": right.get("reason") or "",
        **shared,
    }
