"""Samples of an export with their messages, as the formats read them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

# Reasons for leaving samples out unless an option includes them: prompts that nobody typed and replies that are not
# sent; words in lines that are not recognized; answers that ended with a tool call; pictures.
INJECTED, UNKNOWN_ENVELOPE, INTERRUPTED, PICTURE = "injected", "unknown_envelope", "interrupted", "picture"
# The decisions of memory_gate that are known.
DECISIONS = frozenset({"NO_WRITE", "UPDATE_MEMORY", "UPDATE_USER", "UPDATE_SOUL", "UPDATE_IDENTITY", "UPDATE_TOOLS"})
WRITE = "write_guardian_decision"
WRITTEN, REFUSED = "written", "refused"
NO_FILE = "There is no such file yet."
NO_REASON = "none"
# Why a content cannot be that of the file which a correction names.
CONTENT_ELSEWHERE, CONTENT_STALE = "content_elsewhere", "content_stale"


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A request to write_guardian: a fact, and the file as it was.

    `content` is None where there was no such file.
    """

    fact: str
    file: str
    content: str | None


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """An answer of write_guardian, or the one that it should have given.

    `content` is the file afterwards; None: not known, or not written.
    """

    status: str
    file: str
    reason: str
    content: str | None = None


def read_request(body: dict[str, Any]) -> WriteRequest:
    """The request in the content of a sample.

    Samples that other programs made always have a text for the file.
    """
    content = None if body.get("fileExisted") is False else _text_of(body, "currentFileContent")
    return WriteRequest(_text_of(body, "candidateFact"), _text_of(body, "targetFile"), content)


def read_answer(body: dict[str, Any]) -> WriteAnswer | None:
    """The answer in the content of a sample, None when there is none."""
    status = _text_of(body, "decision")
    if not status:
        return None
    content = body.get("writtenContent")
    is_known = status == WRITTEN and isinstance(content, str)
    return WriteAnswer(
        status, _text_of(body, "targetFile"), _text_of(body, "decisionReason"), content if is_known else None
    )


def read_corrected_answer(output: dict[str, Any] | None, body: dict[str, Any]) -> WriteAnswer | None:
    """The answer in a correction (`guardian_corrected_output`), None when it has none."""
    if not output or not _text_of(output, "status"):
        return None
    file = _text_of(output, "targetFile") or _text_of(body, "targetFile")
    content = _text_of(output, "content") or None
    return WriteAnswer(output["status"], file, _text_of(output, "reason"), content)


def find_misfit(correction: WriteAnswer, body: dict[str, Any]) -> str:
    """The reason why a corrected content cannot be that of its file; empty if it can.

    CONTENT_ELSEWHERE: it is the content of the other file. CONTENT_STALE: it says nothing new. Whether a content is
    that of the other file is judged by its lines, without the fact: more than half of them, and more than it shares
    with the file that it is for, where that is known.
    """
    if correction.status != WRITTEN or correction.content is None:
        return ""
    request, original = read_request(body), read_answer(body)
    written = original.content if original else None
    if correction.file == request.file:
        return CONTENT_STALE if correction.content in (request.content, written) else ""
    user_correction = body.get("userCorrection")
    user_correction = (
        user_correction
        if isinstance(user_correction, dict) and user_correction.get("correctedFile") == correction.file
        else {}
    )
    facts = [fact for fact in (request.fact, _text_of(user_correction, "correctedFact")) if fact]
    content, known = _lines(correction.content, ()), _lines(_text_of(user_correction, "correctedContent"), facts)
    for text in (request.content, written):
        lines = _lines(text or "", facts)
        shared = len(lines & content)
        if 2 * shared > len(lines) and shared > len(known & content):
            return CONTENT_ELSEWHERE
    return ""


def format_question(request: WriteRequest) -> str:
    """Format a request as a model gets it: fact, name of the file, current content."""
    content_text = NO_FILE if request.content is None else f"Current content:\n{request.content}"
    return f"Fact: {join_lines(request.fact)}\nFile: {request.file}\n{content_text}"


def format_answer(write_answer: WriteAnswer) -> str:
    """Format an answer as a model is to learn it.

    A refusal ends with the reason, a write with the whole file.
    """
    text = f"Decision: {write_answer.status}\nReason: {join_lines(write_answer.reason) or NO_REASON}"
    return (
        text
        if write_answer.status != WRITTEN
        else f"{text}\nFile: {write_answer.file}\nContent:\n{write_answer.content or ''}"
    )


def join_lines(text: str) -> str:
    """A text without line breaks, and single blanks."""
    return " ".join(text.split())


def _lines(text, facts):
    """The lines of a file, without blank ones and those that say one of these facts."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    return {line for line in lines if not any(fact in line for fact in facts)}


def _text_of(body, name):
    return _text(body.get(name))


Pair = tuple[str, str]  # role (user or agent), text
# Traits of a sample's turn: tools answered before its reply; the user's words were in an envelope, or in something
# that looks like one and is not known; images or files came with a message; the turn was gone before it was examined.
TOOLS, ENVELOPE, UNRECOGNIZED, IMAGES, GONE = "tools", "envelope", "unrecognized", "images", "gone"
# Nobody received the reply as an answer of the agent; the turn has other words now than people judged.
UNRECEIVED, CHANGED = "unreceived", "changed_since"
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
    judged_by: str = ""  # person or rule; empty: nobody yet
    stored: dict[str, Any] | None = None  # its row, for the formats of stored samples
    traits: frozenset[str] = frozenset()
    write: WriteRequest | None = None  # the request to write_guardian, of a sample that is a write
    guardian: WriteAnswer | None = None  # its answer, or the correction of it
    said_guardian: WriteAnswer | None = None  # what it answered, where `guardian` is the correction of it
    is_guardian_wrong: bool = False  # judged to be wrong, without a correction
    misfit: str = ""  # why the content of the correction is not that of its file
    left_out: str = ""  # why the plan of the export leaves it out, such as a duplicate; empty: it does not
    weight: float = 1.0  # 1 / the samples of its session in the plan
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
    request, original = read_request(body), read_answer(body)
    label, output = row.get("guardian_label"), row.get("guardian_corrected_output")
    correction = read_corrected_answer(_parse_object(output), body) if label == "corrected" and output else None
    sample = ExportSample(
        sample_id=row["id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        turn_number=row["turn_number"],
        user_text=format_question(request),
        agent_reply=format_answer(original) if original else "",
        quality_score=row["quality_score"],
        traits=frozenset(row.get("turn_traits", "").split()),
    )
    sample.write, sample.guardian = request, correction or original
    sample.said_guardian = original if correction else None
    sample.misfit = find_misfit(correction, body) if correction else ""
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
