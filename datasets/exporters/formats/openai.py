"""OpenAI rows: the `messages` of chat fine-tuning, and `tools` where these are known.

The messages end with the reply to learn. OpenAI may refuse keys that it does not know, so a line of another file says
where a row comes from: see `build_source`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import orjson

from ..changes import MESSAGES_MERGED, NO_CHANGES, TOOL_NAMES_CHANGED, Changes
from ..conversations.exchanges import Conversation, Exchange
from ..conversations.spelling import BrokenRule, Call, Message, Step
from ..json_output import dump_json
from ..outcomes import Row, SampleOutcome
from ..prompts import NO_PROMPTS, PromptColumns
from ..prompts import SYSTEM as GIVEN_SYSTEM
from ..prompts import TOOLS as GIVEN_TOOLS
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import metadata
from .decisions import build_gate_exchange, build_guardian_exchange
from .tools import is_function

COLUMNS, WITH_TOOLS = ("messages",), ("messages", "tools")
WITHOUT_PLACES = frozenset({"openai", "openai_preference"})  # formats whose rows have no columns of ours
SYSTEM, USER, AGENT, TOOL = "system", "user", "assistant", "tool"
LONGEST_NAME = 64
NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
OTHER = re.compile(r"[^A-Za-z0-9_-]")
FEWEST_ROWS = 10  # of a training file
MOST_BYTES = 512_000_000  # of a file, in one upload
FEW_ROWS, LARGE_FILE = "fewer_than_10_rows", "larger_than_512_mb"
# The keys that a message may have, in this order.
KEYS: dict[str, set[tuple[str, ...]]] = {
    SYSTEM: {("role", "content")},
    USER: {("role", "content")},
    TOOL: {("role", "tool_call_id", "content")},
    AGENT: {
        (*keys, *weight)
        for keys in (("role", "content"), ("role", "content", "tool_calls"), ("role", "tool_calls"))
        for weight in ((), ("weight",))
    },
}


def build_gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation as a question, and memory_gate's decision as its answer."""
    exchange, done = build_gate_exchange(sample, decision, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done


def build_guardian_row(sample: ExportSample, write_answer: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was as a question, and write_guardian's answer."""
    exchange, done = build_guardian_exchange(sample, write_answer, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done


def build_row(_sample: ExportSample, exchanges: Sequence[Exchange], given: PromptColumns = NO_PROMPTS) -> Row:
    """The conversation up to the sample's reply, with the prompt and tools where known."""
    prompt, tools = given.text(GIVEN_SYSTEM), read_tools(given)
    conversation = Conversation([build_system_exchange(prompt, SPELLING), *exchanges] if prompt else list(exchanges))
    return {"messages": conversation, "tools": tools} if tools else {"messages": conversation}


def read_tools(given: PromptColumns) -> list[dict[str, Any]]:
    """The tools of a row, with names that OpenAI takes."""
    return _read_tools(given.text(GIVEN_TOOLS))[0]


def find_described_tools(given: PromptColumns) -> tuple[frozenset[str], Changes]:
    """The names of the tools in a row, and the changes of its prompt columns."""
    _list, names, done = _read_tools(given.text(GIVEN_TOOLS))
    return names, given.changes | done


@lru_cache(maxsize=16)  # rows of a session share their list
def _read_tools(text: str) -> tuple[list[dict[str, Any]], frozenset[str], Changes]:
    """Tools with names that OpenAI takes, these names, and the changes.

    Of tools that get the same name, the first one stays.
    """
    named: dict[str, Any] = {}
    done: set[str] = set()
    for tool in orjson.loads(text):
        name = _build_valid_name(tool["function"]["name"], done)
        named.setdefault(name, tool | {"function": tool["function"] | {"name": name}})
    return list(named.values()), frozenset(named), frozenset(done)


@lru_cache(maxsize=8)
def build_system_exchange(text: str, spelling: "OpenAI", *, is_marked: bool = False) -> Exchange:
    """An exchange of a system prompt alone, which begins a conversation.

    It is no conversation by itself, but breaks no rule before other exchanges. `is_marked`: its messages say whether
    to learn them.
    """
    message = {"role": SYSTEM, "content": text}
    exchange = Exchange([message], NO_CHANGES, spelling, train=False if is_marked else None)
    exchange.broken = []
    return exchange


def find_notes(training_rows: int, largest: int) -> list[str]:
    """The requirements of OpenAI that an export's files do not meet.

    `largest`: the bytes of the largest file.
    """
    checks = ((FEW_ROWS, training_rows < FEWEST_ROWS), (LARGE_FILE, largest > MOST_BYTES))
    return [name for name, is_so in checks if is_so]


def build_source(outcome: SampleOutcome) -> dict[str, str]:
    """A line of the file of sources: where its row comes from, and control tokens.

    It is the line with the number of the row.
    """
    known = {**metadata.build_place(outcome.sample), **metadata.build_judgement(outcome.sample)}
    known |= metadata.build_given(outcome.given)
    return {**known, "control_tokens": outcome.control_tokens}


@dataclass(frozen=True, slots=True)
class OpenAI:
    """How OpenAI's fine-tuning writes a conversation: see conversations.spelling.Spelling.

    `mark`: the key that says whether to learn a message. `is_text`: the arguments of calls are texts of JSON. `keys`:
    those that a message may have.
    """

    column: ClassVar = "messages"
    text: ClassVar = "content"
    mark: ClassVar = "weight"
    is_text: ClassVar = True
    keys: ClassVar[dict[str, set[tuple[str, ...]]]] = KEYS

    def build_question(self, text: str) -> Message:
        """A message with a person's words."""
        return {"role": USER, "content": text}

    def build_answer(self, text: str) -> Message:
        """A message with the agent's words at the end of a turn."""
        return {"role": AGENT, "content": text}

    def build_own_answer(self, _sample: ExportSample, text: str) -> Message:
        """The answer that a row teaches."""
        return self.build_answer(text)

    def build_calls(self, step: Step, done: set[str]) -> list[Message]:
        """One message with all calls and the words before them, and one for each result."""
        message: Message = {"role": AGENT}
        if step.words:
            message["content"] = "\n\n".join(step.words)
            if len(step.words) > 1:
                done.add(MESSAGES_MERGED)
        ids = build_call_ids(step)
        message["tool_calls"] = [_build_call(call, id_, done) for call, id_ in zip(step.calls, ids, strict=True)]
        results = zip(ids, step.results, strict=True)
        return [message, *({"role": TOOL, "tool_call_id": id_, "content": text} for id_, text in results)]

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """`weight` where the agent speaks: 1 to be learned, 0 not."""
        return [message | {"weight": int(train)} if message["role"] == AGENT else message for message in messages]

    def get_result(self, message: Message) -> str | None:
        """The text of a tool result; None for every other message."""
        return message["content"] if message["role"] == TOOL else None

    def replace_result(self, message: Message, text: str) -> Message:
        """The message of a tool result with another text."""
        return {**message, "content": text}

    def size(self, messages: Iterable[Message]) -> int:
        """The number of characters in the messages."""
        return sum(len(text) for message in messages for text in _texts(message))

    def read_texts(self, messages: Iterable[Message]) -> Iterable[str]:
        """The texts of the messages."""
        return (text for message in messages for text in _texts(message))

    def find_called_tools(self, messages: Iterable[Message]) -> frozenset[str]:
        """The names of the tools that the messages call."""
        return frozenset(call["function"]["name"] for message in messages for call in message.get("tool_calls", ()))

    def find_broken_rules(self, messages: object) -> list[BrokenRule]:
        """The rules that the messages of a conversation break."""
        if not isinstance(messages, list) or not messages:
            return [BrokenRule("odd_count")]
        reader, broken = _Reader(self), []
        for number, message in enumerate(messages, start=1):
            if rule := reader.read(message):
                broken.append(BrokenRule(rule, str(number)))
            if rule == "message_keys":  # what follows cannot be judged
                return broken
        if not broken and reader.before != "answer":
            broken.append(BrokenRule("no_reply", str(len(messages))))
        return broken


SPELLING = OpenAI()


def build_call_ids(step: Step) -> list[str]:
    """The ids of the calls of a step, unique within the branch, of nine characters."""
    return [f"call{number:05}" for number in range(step.first, step.first + len(step.calls))]


class _Reader:
    """Reads the messages of a conversation in order, and names the rule that each breaks."""

    def __init__(self, spelling):
        self.spelling = spelling
        self.before = ""  # what the message before was: user, call, result, answer; empty before the first of them
        self.waiting: list[str] = []  # ids of calls without a result
        self.ids: set[str] = set()
        self.is_marked: bool | None = None

    def read(self, message: Any) -> str | None:
        """The rule that a message breaks; None when it breaks none."""
        if not _is_message(message, self.spelling):
            return "message_keys"
        role = message["role"]
        if role == TOOL:
            return self._check_result(message)
        if self.waiting:
            return "call_without_result"
        if role == AGENT:
            return self._check_order(self.before in ("user", "result"), self._check_agent_message(message))
        if role == SYSTEM:
            return self._check_order(not self.before, None if message["content"].strip() else "empty")
        is_fitting, self.before = self.before in ("", "answer"), "user"
        return self._check_order(is_fitting, None if message["content"].strip() else "empty")

    def _check_order(self, is_fitting, rule):
        return rule if is_fitting else "alternation"

    def _check_result(self, message):
        if message["tool_call_id"] not in self.waiting:
            return "result_without_call"
        self.waiting.remove(message["tool_call_id"])
        self.before = "result"
        return None

    def _check_agent_message(self, message):
        """The rule that a message of the agent breaks by its words or calls."""
        is_marked, self.is_marked = self.is_marked, self.spelling.mark in message
        if is_marked not in (None, self.is_marked):
            return "weight"
        is_silent = "content" in message and not message["content"].strip()
        if is_silent and (self.spelling.is_text or "tool_calls" not in message):
            return "empty"
        if "tool_calls" not in message:
            self.before = "answer"
            return None
        self.before = "call"
        return self._check_calls(message["tool_calls"])

    def _check_calls(self, calls):
        if not calls or not all(_is_call(call, self.spelling) for call in calls):
            return "call"
        ids = [call["id"] for call in calls]
        if len(set(ids)) < len(ids) or self.ids & set(ids):
            return "call_id"
        self.ids.update(ids)
        self.waiting = ids
        return None


def _build_call(call: Call, id_: str, done: set[str]) -> dict[str, Any]:
    name = _build_valid_name(call.name, done)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": dump_json(call.arguments)}}


def _build_valid_name(name: str, done: set[str]) -> str:
    """A name of a tool as OpenAI takes it."""
    valid_name = OTHER.sub("_", name)[:LONGEST_NAME]
    if valid_name != name:
        done.add(TOOL_NAMES_CHANGED)
    return valid_name


def _texts(message):
    """The texts of a message: its words, and the names and arguments of its calls."""
    if "content" in message:
        yield message["content"]
    for call in message.get("tool_calls", ()):
        for value in call["function"].values():
            yield value if isinstance(value, str) else dump_json(value)


def _is_message(message, spelling):
    """Whether a message has the keys that its role may have, and texts in them."""
    if not isinstance(message, dict) or tuple(message) not in spelling.keys.get(str(message.get("role")), ()):
        return False
    texts = (value for key, value in message.items() if key not in ("tool_calls", spelling.mark))
    if not all(isinstance(text, str) for text in texts) or not isinstance(message.get("tool_calls", []), list):
        return False
    mark = message.get(spelling.mark, 1)
    return mark in (0, 1) and type(mark) in ((int,) if spelling.is_text else (bool, int))


def are_tools(value: Any) -> bool:
    """Whether these are functions with unique names that OpenAI takes."""
    if not isinstance(value, list) or not value or not all(map(is_function, value)):
        return False
    names = [tool["function"]["name"] for tool in value]
    return len(set(names)) == len(names) and all(map(NAME.fullmatch, names))


def _is_call(call, spelling):
    if not isinstance(call, dict) or list(call) != ["id", "type", "function"] or call["type"] != "function":
        return False
    function = call["function"]
    if not isinstance(function, dict) or list(function) != ["name", "arguments"]:
        return False
    name, arguments = function.values()
    if not all(isinstance(text, str) and text for text in (call["id"], name)):
        return False
    if not spelling.is_text:
        return isinstance(arguments, dict)
    return NAME.fullmatch(name) is not None and isinstance(arguments, str) and _is_object(arguments)


def _is_object(text):
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
