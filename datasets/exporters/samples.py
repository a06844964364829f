"""Samples of an export with their messages, as the formats read them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from . import writes
from .writes import WRITE, WriteAnswer, WriteRequest

Pair = tuple[str, str]  # role (user or agent), text
# Traits of a sample's turn: tools answered before its reply; the user's words were in an envelope, or in something
# that looks like one and is not known; images or files came with a message; the turn was gone before it was examined.
TOOLS, ENVELOPE, UNRECOGNIZED, IMAGES, GONE = "tools", "envelope", "unrecognized", "images", "gone"
# Types of samples that are decisions of memory_gate, with what it saw and without anything else of their turns.
POSITIVE, NEGATIVE = GATE_TYPES = ("memory_gate_positive", "memory_gate_negative")
# Messages before a turn are kept with their first characters only: one of this length was cut (or just fits).
CONTEXT_CHARACTERS = 8_000


class UnreadableSample(ValueError):
    """The content of a sample is not what its type promises."""


@dataclass(slots=True)
class GateAnswer:
    """A decision of memory_gate, or the decision that a person gave as its correction."""

    decision: str
    reason: str
    fact: str


@dataclass(slots=True)
class ExportSample:
    """One sample: the turn it is about, the messages before it, and the reply to learn."""

    sample_id: str
    agent_id: str
    session_id: str
    turn_number: int | None  # None: a decision without a turn
    user_text: str
    agent_reply: str
    edited_reply: str | None = None
    messages: Any = None  # the messages before the turn, as stored: most formats never look at them
    gate: GateAnswer | None = None
    said_gate: GateAnswer | None = None  # what memory_gate answered, where `gate` is the correction of it
    is_gate_wrong: bool = False  # judged to be wrong, without a correction
    quality_score: float | None = None
    is_approved: bool = False
    stored: dict[str, Any] | None = None  # its row, for the formats of stored samples
    traits: frozenset[str] = frozenset()
    write: WriteRequest | None = None  # the request to write_guardian, of a sample that is a write
    guardian: WriteAnswer | None = None  # its answer, or the correction of it
    said_guardian: WriteAnswer | None = None  # what it answered, where `guardian` is the correction of it
    is_guardian_wrong: bool = False  # judged to be wrong, without a correction
    misfit: str = ""  # why the content of the correction is not that of its file
    is_duplicate: bool = False  # the export has another sample that says the same
    judged_texts: Pair | None = None  # the user's text and the agent's reply before redaction
    redact_message: Callable[[str], str] = str  # for the messages before the turn, when a format looks at them

    @property
    def reply(self) -> str:
        """The reply to learn: as a person edited it, else as the agent gave it."""
        return self.agent_reply if self.edited_reply is None else self.edited_reply

    @property
    def context(self) -> list[Pair]:
        """The messages before the turn, without those of other roles than user and agent."""
        return [(role, self.redact_message(text)) for role, text in _pairs(self.messages)]

    @property
    def judged(self) -> Pair:
        """The user's text and the agent's reply as they were judged, before redaction."""
        return self.judged_texts or (self.user_text, self.agent_reply)

    def is_context_cut(self, first: int = 0) -> bool:
        """Whether a message before the turn, from `first` on, may have been cut."""
        return any(len(text) == CONTEXT_CHARACTERS for _, text in _pairs(self.messages)[first:])

    @property
    def turn(self) -> list[Pair]:
        """The messages of the turn; memory_gate may have seen one of them only."""
        return [pair for pair in (("user", self.user_text), ("agent", self.agent_reply)) if pair[1]]


def read_sample(row: dict[str, Any]) -> ExportSample:
    """The sample in a row of `dataset_samples`. Raises UnreadableSample when its content is no object."""
    body = _parse_object(row["content"])
    if body.get("type") == WRITE:
        return _read_write(row, body)
    is_decision = body.get("type") in GATE_TYPES
    texts, earlier_messages = _split_conversation(body) if is_decision else (_read_turn(body), body.get("context"))
    sample = ExportSample(
        sample_id=row["id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        turn_number=row["turn_number"],
        user_text=texts.get("user", ""),
        agent_reply=texts.get("agent", ""),
        edited_reply=None if is_decision else row["output"],
        messages=earlier_messages,
        quality_score=row["quality_score"],
        traits=frozenset(row.get("turn_traits", "").split()),
    )
    if is_decision:
        label, corrected = _read_decision_verdict(row, body)
        original = read_decision(body)
        sample.gate, sample.said_gate = corrected or original, original if corrected else None
        sample.is_gate_wrong = not corrected and (label != "correct" if label else body["type"] == NEGATIVE)
    elif isinstance(gate := body.get("memoryGate"), dict):
        label, corrected = _read_gate_verdict(row, gate)
        original = _read_gate_answer(gate.get("output"))
        sample.gate, sample.said_gate = corrected or original, original if corrected else None
        sample.is_gate_wrong = label == "incorrect" and not corrected
    return sample


def _read_write(row, body):
    """Read a sample that is a write.

    Its texts are the request and the answer as they were, even if people corrected the answer.
    """
    request, original = writes.read_request(body), writes.read_answer(body)
    label, output = row.get("guardian_label"), row.get("guardian_corrected_output")
    correction = writes.read_corrected_answer(_parse_object(output), body) if label == "corrected" and output else None
    sample = ExportSample(
        sample_id=row["id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        turn_number=row["turn_number"],
        user_text=writes.format_question(request),
        agent_reply=writes.format_answer(original) if original else "",
        quality_score=row["quality_score"],
        traits=frozenset(row.get("turn_traits", "").split()),
    )
    sample.write, sample.guardian = request, correction or original
    sample.said_guardian = original if correction else None
    sample.misfit = writes.find_misfit(correction, body) if correction else ""
    sample.is_guardian_wrong = correction is None and label in ("incorrect", "corrected")
    return sample


def read_stored(row: dict[str, Any]) -> ExportSample:
    """The sample in a row of `dataset_samples` with that row, whatever its content is."""
    try:
        sample = read_sample(row)
    except UnreadableSample:
        sample = read_sample({**row, "content": "{}"})
    sample.stored = row
    return sample


def read_decision(body: dict[str, Any]) -> GateAnswer | None:
    """The decision of memory_gate in the content of a sample of GATE_TYPES."""
    prefix = "correct" if body.get("type") == POSITIVE else "incorrect"
    decision, fact, reason = (_text(body.get(f"{prefix}{name}")) for name in ("Decision", "Fact", "Reason"))
    return GateAnswer(decision, reason, fact) if decision else None


def count_own_messages(body: dict[str, Any]) -> int:
    """Count the last messages of a conversation that are the turn's own.

    `body` is the content of a sample of GATE_TYPES.

    Samples that other programs made do not say: then it is a message of the agent with a user's message before it, or
    the last message.
    """
    roles = [message.get("role") if isinstance(message, dict) else None for message in _list_messages(body)[-2:]]
    most = 2 if roles == ["user", "agent"] else len(roles[-1:])
    count = body.get("turnMessages")
    return min(count, most) if isinstance(count, int) and count >= 0 else most


def parse_loose_json(text: str) -> Any:
    """Parse a text of JSON that may have halves of surrogate pairs. Raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)  # with half of a surrogate pair, which is replaced later: no reason to lose a sample


def _read_turn(body):
    return {"user": _text(body.get("userMessage")), "agent": _text(body.get("agentReply"))}


def _split_conversation(body):
    """The texts of a decision's own turn by role, and the messages before it."""
    messages = _list_messages(body)
    first = len(messages) - count_own_messages(body)
    return dict(_pairs(messages[first:])), messages[:first]


def _list_messages(body):
    messages = body.get("conversation")
    return messages if isinstance(messages, list) else []


def _pairs(messages):
    return [
        (message["role"], message["message"])
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and message.get("role") in ("user", "agent") and _text(message.get("message"))
    ]


def _read_decision_verdict(row, body):
    """Label and correction of a sample that is a decision; see `_read_gate_verdict`."""
    if label := row.get("gate_label"):
        return label, _read_gate_answer(_parse_object(row["gate_corrected_output"])) if label == "corrected" else None
    if body["type"] == POSITIVE:
        return None, None
    decision, fact = _text(body.get("correctDecision")), _text(body.get("correctFact"))
    reason = _text(body.get("correctReason")) or _text(body.get("rejectionReason"))
    is_whole = decision and (fact or decision == "NO_WRITE")
    return None, GateAnswer(decision, reason, fact) if is_whole else None


def _read_gate_verdict(row, gate):
    """Label and correction of the gate's part of a sample that is a turn.

    A verdict of people in this application counts before the one that the sample came with.
    """
    if label := row.get("gate_label"):
        return label, _read_gate_answer(_parse_object(row["gate_corrected_output"])) if label == "corrected" else None
    return gate.get("label"), _read_gate_answer(gate.get("correctedOutput"))


def _parse_object(content):
    try:
        body = parse_loose_json(content)
    except ValueError as exc:
        raise UnreadableSample from exc
    if not isinstance(body, dict):
        raise UnreadableSample
    return body


def _read_gate_answer(answer):
    if not isinstance(answer, dict) or not _text(answer.get("decision")):
        return None
    return GateAnswer(
        decision=answer["decision"], reason=_text(answer.get("reason")), fact=_text(answer.get("candidateFact"))
    )


def _text(value):
    return value if isinstance(value, str) else ""
