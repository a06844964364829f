"""Decides what a person received as the answer of a turn, from the messages of the agent and its calls.

This is the one place that decides it: turns, lists, reviews and exports read what it says. No Django. Sources are the
sending actions, silent tokens and fixed replies in the files of the npm package `openclaw` (2026.2.26 to 2026.9.6).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from .reply_markers import strip_markers

DELIVERED, SUPPRESSED, FAILED, NOT_KNOWN = DELIVERIES = ("delivered", "suppressed", "failed", "not_known")
# Conditions of an answer; an empty state is a usual answer. The first that applies counts.
DAMAGED, SILENT, CANNED, PRIVATE, CUT_OFF, INTERRUPTED, PICTURES = STATES = (
    *("damaged", "silent", "canned", "private", "cut_off", "interrupted", "pictures"),
)
UNTAUGHT = (DAMAGED, CANNED, PRIVATE)  # no person received such words as an answer of the agent
CUT_STOPS = ("length", "max_tokens")
OPEN_STOPS = ("toolUse", "tool_use", "tool_calls")
MESSAGE = "message"  # the tool that sends into conversations
BY_REFERENCE = ("conversations_send", "conversations_turn")  # tools that send into the conversation of a reference
SENDERS = (MESSAGE, *BY_REFERENCE)
# OpenClaw's words for the outcome of a run that answers by a tool alone, and of a queued send; others say nothing.
OUTCOMES = {
    "tool_delivered": DELIVERED,
    "mute": SUPPRESSED,
    "sent": DELIVERED,
    "replied": DELIVERED,
    "suppressed": SUPPRESSED,
    "rejected": FAILED,
}
OPEN = ("created", "queued", "unknown")  # of a send whose end its result does not know
SENDING = frozenset({"send", "reply", "thread-reply", "sendwitheffect", "sendattachment", "upload-file"})
TEXTS = ("message", "text", "content", "caption")  # of its arguments, the first with words counts
TARGETS = ("target", "to", "channelId", "chatId")
FILES = ("media", "mediaUrl", "path", "filePath", "buffer", "attachments")
NOT_DELIVERED = "channel-final-suppressed"  # the kind of a copy of a message that was not sent
LONGEST_RESULT = 20_000  # characters of a result that are read

# Replies that are not sent, alone or repeated, in any case, between punctuation, as JSON, or after thoughts.
TOKENS = ("NO_REPLY", "HEARTBEAT_OK", "ANNOUNCE_SKIP", "REPLY_SKIP")
HEARTBEAT = TOKENS[1]
SHORT = 120  # characters before a line with nothing but a token
LONGEST_SILENCE = 4_000  # characters: thoughts may stand before a token
THOUGHTS = re.compile(
    r"(?is)\s*<\s*(?:antml:|mm:)?(?:think(?:ing)?|thought|antthinking)\b[^<>]{0,200}>.{0,4000}?</[^<>]{1,40}>"
)
EDGE = re.compile(r"^[\W_]+|[\W_]+$")
# What OpenClaw writes in the assistant's place; a reply is one of them when it begins with the text.
CANNED_TEXTS = (
    "[assistant turn failed before producing content]",
    "[This turn failed before it completed.",
    "LLM request failed",
    "LLM request timed out",
    "LLM request rejected",
    "LLM request unauthorized",
    "The agent run failed before producing a reply",
    "No response from OpenClaw.",
    "No response generated. Please try again.",
    "Something went wrong while processing your request",
    "Message ordering conflict - please try again.",
    "Context overflow: prompt too large for the model.",
    "The AI service is temporarily overloaded.",
    "The AI service returned an error.",
    "The selected model was not found by the provider.",
    "The selected model is not in the prepared model catalog.",
    "Request timed out before a response was generated.",
    "Agent failed before reply:",
)
# The same after a warning sign, which people's agents also use: more of the sentence has to be there.
WARNINGS = (
    "Agent couldn't generate a response.",
    "Agent failed before reply",
    "All attempted models were rate-limited",
    "API provider returned a billing error",
    "API rate limit reached.",
    "Auto-compaction could not recover this turn.",
    "Context is too large and auto-compaction",
    "Context limit exceeded",
    "Context overflow",
    "Couldn't process this message, please try again",
    "Gateway is restarting.",
    "LLM connection failed.",
    "Missing API key for",
    "Model switch could not be completed.",
    "OpenClaw couldn't produce or deliver a reply.",
    "Previous run is still shutting down.",
    "Selected model is at capacity.",
    "Something went wrong while processing your request.",
    "The configured model is unavailable from the provider",
    "The model provider rejected",
    "The model provider returned",
    "The model request was rate-limited.",
    "The provider returned an unfinished tool call.",
    "This turn was interrupted because it stopped making progress.",
)
WARNING = re.compile(r"⚠️?\s*")


class Message(Protocol):
    """A message of the agent or a result of a tool; records.Facts is one."""

    kind: str  # assistant or tool_result; others are passed over
    text: str
    calls: list[Any]
    tool_call_id: str | None
    is_failed: bool
    is_synthetic: bool
    stop_reason: str | None
    mirror: str
    run_id: str

    @property
    def has_files(self) -> bool: ...


@dataclass(slots=True)
class Answer:
    """The words that the person received.

    `place` is that of the message with its last words, None without any. `sent` are the calls of the message tool whose
    words it consists of, by their place and id; their turn's last words are then `private`, when nobody received these.
    """

    text: str = ""
    parts: list[str] = field(default_factory=list)  # of the text, with two line breaks between them
    place: int | None = None
    state: str = ""
    delivery: str = NOT_KNOWN
    sent: list[tuple[int, str]] = field(default_factory=list)
    private: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation of a session: whether several people may speak, and the names that sends may give it.

    `outcomes` are those of its runs that answer by a tool alone, and of its queued sends, by their ids.
    """

    is_group: bool = False
    names: frozenset[str] = frozenset()
    outcomes: Mapping[str, str] = field(default_factory=dict, compare=False)


ALONE = Conversation()


def is_silent(reply: str) -> bool:
    """Whether a reply means that no message is sent."""
    if len(reply) > LONGEST_SILENCE or "_" not in reply or not any(map(reply.upper().count, TOKENS)):
        return False  # most replies have no underscore, which is found much faster
    words = THOUGHTS.sub("", reply).strip()
    if words.startswith(HEARTBEAT) or words.endswith(HEARTBEAT):
        return True
    if words.startswith("{"):
        value = _load(words)
        words = value["action"] if value.keys() == {"action"} and isinstance(value["action"], str) else words
    before, _line, last = words.rpartition("\n")
    if len(before.strip()) <= SHORT and EDGE.sub("", last).upper() in TOKENS:  # a note to itself, not an answer
        return True
    pieces = set(EDGE.sub("", words).upper().split())
    return len(pieces) == 1 and pieces <= set(TOKENS)


def is_canned(reply: str) -> bool:
    """Whether OpenClaw wrote a reply in the assistant's place."""
    words = reply.lstrip()
    sign = WARNING.match(words)
    return words.startswith(CANNED_TEXTS) or bool(sign and words[sign.end() :].startswith(WARNINGS))


def find_answer(messages: Sequence[Message], conversation: Conversation) -> Answer:
    """The answer among the messages that follow a person's message on its branch.

    Without sends into the own conversation the last words of the agent are the answer, as far as anybody can tell:
    their delivery is not known. In a group, and in runs that answer by a tool alone, sends are the answer, and the last
    words are private; elsewhere people receive both.
    """
    known = conversation.outcomes
    runs = {known[message.run_id] for message in messages if message.run_id in known} if known else set()
    results = {message.tool_call_id: message for message in messages if message.kind == "tool_result"}
    answer, outcomes, has_file = Answer(), [], False
    parts = answer.parts
    for place, message in enumerate(messages):
        for call in message.calls if message.kind == "assistant" else ():
            if call.name not in SENDERS or not _is_own_send(call, conversation):
                continue
            outcomes.append(read_outcome(results.get(call.id), conversation))
            if outcomes[-1] in (FAILED, SUPPRESSED):
                continue
            texts = (call.arguments.get(name) for name in TEXTS)
            words, files = strip_markers(next((text for text in texts if isinstance(text, str) and text.strip()), ""))
            is_file = files > 0 or any(call.arguments.get(name) for name in FILES)
            has_file |= is_file
            if words or is_file:
                answer.place = place
                answer.sent.append((place, call.id))
            parts += [words] if words else []
    last_place = next((place for place in reversed(range(len(messages))) if _has_words(messages[place])), None)
    last = messages[last_place].text if last_place is not None else ""
    if last_place is not None and not answer.sent:
        answer.place = last_place
        parts += [last] if last else []
        has_file |= messages[last_place].has_files
    elif last.strip() and (conversation.is_group or runs) and not is_silent(last):
        answer.private = last
    elif last.strip() and not is_silent(last) and last.strip() not in (part.strip() for part in parts):
        parts.append(last)
        answer.place = max(last_place or 0, answer.place or 0)
    answer.text = "\n\n".join(parts)
    _describe(answer, messages, outcomes, has_file and not parts)
    if not answer.sent and answer.text and not answer.state:
        answer.state = PRIVATE if runs or (FAILED in outcomes and conversation.is_group) else ""
    if answer.delivery == NOT_KNOWN and DELIVERED in runs:
        answer.delivery = DELIVERED if answer.sent else NOT_KNOWN
    elif answer.delivery == NOT_KNOWN and runs:
        answer.delivery = SUPPRESSED
    return answer


def _describe(answer, messages, outcomes, is_file):
    """Set state and delivery."""
    stop = messages[answer.place].stop_reason if answer.place is not None else None
    conditions = (
        (SILENT, not answer.sent and is_silent(answer.text)),
        (CANNED, is_canned(answer.text)),
        (CUT_OFF, stop in CUT_STOPS),
        (INTERRUPTED, stop in OPEN_STOPS and not answer.sent),
        (PICTURES, is_file),
    )
    answer.state = next((name for name, applies in conditions if applies), "")
    if answer.sent:
        answer.delivery = DELIVERED if DELIVERED in outcomes else NOT_KNOWN
    elif outcomes and FAILED in outcomes:
        answer.delivery = FAILED
    elif answer.state == SILENT or SUPPRESSED in outcomes:
        answer.delivery = SUPPRESSED
    else:
        copies = [message.mirror for message in messages if message.mirror and message.text == answer.text]
        if copies:
            answer.delivery = SUPPRESSED if copies[-1] == NOT_DELIVERED else DELIVERED


def _has_words(message):
    """Whether a message of the agent says something, or shows something."""
    return message.kind == "assistant" and not message.is_synthetic and bool(message.text or message.has_files)


def _is_own_send(call, conversation):
    """Whether a call sends into the conversation that it is part of."""
    arguments = call.arguments
    if call.name in BY_REFERENCE:
        return str(arguments.get("conversationRef")).lower() in conversation.names
    if arguments.get("dryRun") or str(arguments.get("action") or "").lower() not in SENDING:
        return False
    given = [arguments.get(name) for name in TARGETS]
    several = arguments.get("targets")
    given += several if isinstance(several, list) else []
    return all(_strip_prefixes(str(target)) in conversation.names for target in given if target)


def _strip_prefixes(name):
    """The name of a conversation without its channel, kind and topic, as in telegram:group:-100777:topic:3."""
    parts = name.strip().lower().split(":")
    while len(parts) > 1 and (parts[0].isalpha() or not parts[0]):
        parts.pop(0)
    return parts[0]


def build_conversation(is_group: bool, names: Iterable[str | None], outcomes: Any = None) -> Conversation:
    """The conversation with these names, such as parts of the session's key."""
    own_names = frozenset(_strip_prefixes(name) for name in names if name) - {""}
    return Conversation(is_group, own_names, outcomes if isinstance(outcomes, dict) else {})


def read_outcome(result: Message | None, conversation: Conversation) -> str:
    """The delivery of a send, as its result says it."""
    if result is None:
        return NOT_KNOWN
    value = _load(result.text) if len(result.text) <= LONGEST_RESULT else {}
    if known := conversation.outcomes.get(str(value.get("queueId"))):
        return known
    status = str(value.get("deliveryStatus") or value.get("status") or "").lower()
    if result.is_failed or value.get("ok") is False or status in ("failed", "error", "denied"):
        return FAILED
    if status in OPEN:
        return NOT_KNOWN
    return SUPPRESSED if status == SUPPRESSED else DELIVERED


def _load(text):
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
