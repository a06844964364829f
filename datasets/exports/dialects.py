"""The three spellings of conversations: how messages are written, and the rules that trainers have for them.

Conversations are built in one spelling, that of chat templates (MESSAGES); the others are made of it.
The rules are those of LLaMA-Factory's sharegpt converter, of chat templates, and of OpenAI's fine-tuning.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import orjson

from ..json_texts import dump_json
from ..sample_texts import ExportSample
from .changes import TEXT_BEFORE_CALL_DROPPED, TOOL_NAMES_CHANGED, TOOL_RESULTS_MERGED

Message = dict[str, Any]
SYSTEM, USER, AGENT, TOOL = "system", "user", "assistant", "tool"
HUMAN, GPT, CALL, RESULT = "human", "gpt", "function_call", "observation"
ASKING, ANSWERING = frozenset({HUMAN, RESULT}), frozenset({GPT, CALL})
DECISION, FACT = NOTES = ("memory_gate_decision", "candidate_fact")  # of the Reflection spec, in each message
LONGEST_NAME = 64  # of a tool, for OpenAI
NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
OTHER = re.compile(r"[^A-Za-z0-9_-]")
# LLaMA-Factory searches the JSON of a call for these before it reads it, and stops at them or cuts them out. With an
# escape instead, an argument that holds them is the same argument.
TAGS = ("<think>", "<tool_call>")
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a row breaks. `place`: the column, or the number of the message from 1."""

    rule: str
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """A spelling: the keys of a message, and functions of messages.

    `mark`: the key that says whether to learn a message. `result`: the role of tool results. `write` makes messages of
    those of chat templates, and adds what it changes to a set. `keys`: those that a message of each role may have.
    """

    role: str
    text: str
    mark: str
    result: str
    write: Callable[[list[Message], set[str]], list[Message]]
    list_texts: Callable[[Message], Iterable[str]]
    find_called: Callable[[Message], Set[str]]
    find_broken: Callable[["Dialect", Any], list[BrokenRule]]
    notes: tuple[str, ...] = ()
    keys: Mapping[str, Set[tuple[str, ...]]] = field(default_factory=dict)
    has_text_arguments: bool = False

    def size(self, messages: Iterable[Message]) -> int:
        """The number of characters in the messages."""
        return sum(len(text) for message in messages for text in self.list_texts(message))

    def read_texts(self, messages: Iterable[Message]) -> Iterator[str]:
        """The texts of the messages, with the facts that the Reflection spec has in them."""
        for message in messages:
            yield from self.list_texts(message)
            if fact := message.get(FACT):
                yield fact

    def build(self, role: str, text: str) -> Message:
        """One message with the words of a person (USER) or of the agent (AGENT)."""
        return self.write([{"role": role, "content": text}], set())[0]

    def mark_message(self, message: Message, train: bool) -> Message:
        """The message, saying whether to learn it: only what the agent says is learned."""
        if not self.mark:  # of a prompt nothing is learned
            return message
        is_agent = message[self.role] in (AGENT, GPT, CALL)
        if self.has_text_arguments:  # OpenAI has weights, and only for the agent
            return message | {self.mark: int(train)} if is_agent else message
        return message | {self.mark: train and is_agent}

    def find_broken_rules(self, messages: Any) -> list[BrokenRule]:
        """The rules that the messages break; they may be anything that a loader could read from a file."""
        return self.find_broken(self, messages)


def build_answer(dialect: Dialect, text: str, sample: ExportSample) -> Message:
    """The answer that a row teaches; the Reflection spec has what memory_gate decided about its turn beside it."""
    message = dialect.build(AGENT, text)
    return (
        message | {DECISION: sample.gate.decision, FACT: sample.gate.fact} if dialect.notes and sample.gate else message
    )


def _write_sharegpt(messages: list[Message], done: set[str]) -> list[Message]:
    """Calls that ran side by side are one message, their results another; words before a call have no place."""
    written: list[Message] = []
    for message in messages:
        if calls := message.get("tool_calls"):
            if message["content"]:
                done.add(TEXT_BEFORE_CALL_DROPPED)
            if len(calls) > 1:
                done.add(TOOL_RESULTS_MERGED)
            # Calls as ShareGPT's trainers read them: one is an object, several are a list.
            values = [{"name": call["function"]["name"], "arguments": call["function"]["arguments"]} for call in calls]
            text = dump_json(values[0] if len(values) == 1 else values)
            for tag in TAGS:
                text = text.replace(tag, f"\\u003c{tag[1:]}")
            written.append({"from": CALL, "value": text})
        elif message["role"] != TOOL:
            written.append({"from": HUMAN if message["role"] == USER else GPT, "value": message["content"]})
        elif written[-1]["from"] == RESULT:
            written[-1]["value"] += f"\n\n{message['content']}"
        else:
            written.append({"from": RESULT, "value": message["content"]})
    return written


def _write_reflection(messages: list[Message], done: set[str]) -> list[Message]:
    """ShareGPT with the notes of the spec in each message: a loader would fill missing ones with nulls."""
    return [message | dict.fromkeys(NOTES, "") for message in _write_sharegpt(messages, done)]


def _write_openai(messages: list[Message], done: set[str]) -> list[Message]:
    """Arguments are texts of JSON, a call without words has no content, and a result does not name its tool."""
    written = []
    for message in messages:
        if message["role"] == TOOL:
            message = {key: value for key, value in message.items() if key != "name"}
        elif calls := message.get("tool_calls"):
            words = {"content": message["content"]} if message["content"] else {}
            message = {"role": AGENT, **words, "tool_calls": [_write_openai_call(call, done) for call in calls]}
        written.append(message)
    return written


def _write_openai_call(call, done):
    function = call["function"]
    arguments = dump_json(function["arguments"])
    return call | {"function": {"name": build_valid_name(function["name"], done), "arguments": arguments}}


def build_valid_name(name: str, done: set[str]) -> str:
    """A name of a tool as OpenAI takes it."""
    valid_name = OTHER.sub("_", name)[:LONGEST_NAME]
    if valid_name != name:
        done.add(TOOL_NAMES_CHANGED)
    return valid_name


def _list_chat_texts(message):
    """The words of a message, and the names and arguments of its calls."""
    if "content" in message:
        yield message["content"]
    for call in message.get("tool_calls", ()):
        for value in call["function"].values():
            yield value if isinstance(value, str) else dump_json(value)


def _find_chat_calls(message):
    return {call["function"]["name"] for call in message.get("tool_calls", ())}


def _find_sharegpt_calls(message):
    return (_read_called_names(message["value"]) or frozenset()) if message["from"] == CALL else frozenset()


@lru_cache(maxsize=16)  # a turn is an exchange twice: with the reply to learn, and in the history of what follows
def _read_called_names(value):
    """The names of the tools that a message of ShareGPT calls; None when no trainer could read it."""
    try:
        calls = orjson.loads(THOUGHT.sub("", value, count=1) if value.startswith("<think>") else value)
    except orjson.JSONDecodeError:
        return None
    calls = calls if isinstance(calls, list) else [calls]
    is_sound = all(
        isinstance(call, dict)
        and list(call) == ["name", "arguments"]
        and isinstance(call["name"], str)
        and call["name"] != ""
        and isinstance(call["arguments"], dict)
        for call in calls
    )
    return frozenset(call["name"] for call in calls) if calls and is_sound else None


def _find_broken_sharegpt(dialect, messages):
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        return [BrokenRule("odd_count")]
    broken: list[BrokenRule] = []
    before = ""
    is_marked = isinstance(messages[0], dict) and dialect.mark in messages[0]
    texts = ["from", "value", *dialect.notes]
    keys = [*texts, dialect.mark] if is_marked else texts
    for number, message in enumerate(messages):
        is_message = isinstance(message, dict) and list(message) == keys
        if not is_message or not all(isinstance(message[key], str) for key in texts):
            return [*broken, BrokenRule("message_keys", str(number + 1))]  # what follows cannot be judged
        role, value, rule = message["from"], message["value"], ""
        if role not in (ANSWERING if number % 2 else ASKING) or (number == 0 and role != HUMAN):
            rule = "alternation"
        elif (role == RESULT) != (before == CALL):
            rule = "call_without_result" if before == CALL else "result_without_call"
        elif role == CALL:
            rule = "" if _read_called_names(value) else "call"
        elif role != RESULT and not value.strip():
            rule = "empty"
        if rule:
            broken.append(BrokenRule(rule, str(number + 1)))
        before = role
    return broken if broken or before == GPT else [BrokenRule("no_reply", str(len(messages)))]


def _find_broken_chat(dialect, messages):
    """The rules of messages with calls as objects, in one of the two spellings that have them."""
    if not isinstance(messages, list) or not messages:
        return [BrokenRule("odd_count")]
    broken: list[BrokenRule] = []
    before = ""  # the message before: user, call, result or answer; empty before the first of them
    waiting: list[str] = []  # ids of calls without a result
    ids: set[str] = set()
    is_marked = None
    for number, message in enumerate(messages, start=1):
        if not _is_chat_message(message, dialect):
            return [*broken, BrokenRule("message_keys", str(number))]  # what follows cannot be judged
        role, calls, rule = message["role"], message.get("tool_calls"), ""
        is_silent = "content" in message and not message["content"].strip()
        if role == TOOL:
            if message["tool_call_id"] not in waiting:
                rule = "result_without_call"
            else:
                waiting.remove(message["tool_call_id"])
                before = "result"
        elif waiting:
            rule = "call_without_result"
        elif role == AGENT:
            is_fitting, was_marked, is_marked = before in ("user", "result"), is_marked, dialect.mark in message
            if was_marked not in (None, is_marked):
                rule = "weight"
            elif is_silent and (dialect.has_text_arguments or calls is None):
                rule = "empty"
            elif calls is None:
                before = "answer"
            else:
                before = "call"
                rule = _find_call_rule(calls, ids, dialect)
                if not rule:
                    waiting = [call["id"] for call in calls]
                    ids.update(waiting)
            rule = rule if is_fitting else "alternation"
        else:
            is_fitting = not before if role == SYSTEM else before in ("", "answer")
            before = before if role == SYSTEM else "user"
            rule = "alternation" if not is_fitting else "empty" if is_silent else ""
        if rule:
            broken.append(BrokenRule(rule, str(number)))
    return broken if broken or before == "answer" else [BrokenRule("no_reply", str(len(messages)))]


def _is_chat_message(message, dialect):
    """Whether a message has the keys that its role may have, and texts in them."""
    if not isinstance(message, dict) or tuple(message) not in dialect.keys.get(str(message.get("role")), ()):
        return False
    texts = (value for key, value in message.items() if key not in ("tool_calls", dialect.mark))
    if not all(isinstance(text, str) for text in texts) or not isinstance(message.get("tool_calls", []), list):
        return False
    mark = message.get(dialect.mark, 1)
    return mark in (0, 1) and type(mark) in ((int,) if dialect.has_text_arguments else (bool, int))


def _find_call_rule(calls, ids, dialect):
    if not calls or not all(_is_call(call, dialect) for call in calls):
        return "call"
    own = {call["id"] for call in calls}
    return "call_id" if len(own) < len(calls) or ids & own else ""


def _is_call(call, dialect):
    if not isinstance(call, dict) or list(call) != ["id", "type", "function"] or call["type"] != "function":
        return False
    function = call["function"]
    if not isinstance(function, dict) or list(function) != ["name", "arguments"]:
        return False
    name, arguments = function.values()
    if not all(isinstance(text, str) and text for text in (call["id"], name)):
        return False
    if not dialect.has_text_arguments:
        return isinstance(arguments, dict)
    try:
        is_object = isinstance(arguments, str) and isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        is_object = False
    return NAME.fullmatch(name) is not None and is_object


def _allow_keys(*choices: tuple[str, ...], mark: str) -> set[tuple[str, ...]]:
    return {(*keys, *more) for keys in choices for more in ((), (mark,))}


def _build_sharegpt(write, notes=()):
    def list_texts(message):
        return (message["value"],)

    return Dialect(
        *("from", "value", "train", RESULT, write, list_texts, _find_sharegpt_calls, _find_broken_sharegpt, notes)
    )


SHAREGPT = _build_sharegpt(_write_sharegpt)
REFLECTION = _build_sharegpt(_write_reflection, NOTES)
OPENAI = Dialect(
    *("role", "content", "weight", TOOL, _write_openai, _list_chat_texts, _find_chat_calls, _find_broken_chat),
    keys={
        SYSTEM: {("role", "content")},
        USER: {("role", "content")},
        TOOL: {("role", "tool_call_id", "content")},
        AGENT: _allow_keys(
            ("role", "content"), ("role", "content", "tool_calls"), ("role", "tool_calls"), mark="weight"
        ),
    },
    has_text_arguments=True,
)
MESSAGES = Dialect(
    *("role", "content", "train", TOOL, lambda messages, _done: messages),
    *(_list_chat_texts, _find_chat_calls, _find_broken_chat),
    keys={
        SYSTEM: _allow_keys(("role", "content"), mark="train"),
        USER: _allow_keys(("role", "content"), mark="train"),
        TOOL: _allow_keys(("role", "name", "tool_call_id", "content"), mark="train"),
        AGENT: _allow_keys(("role", "content"), ("role", "content", "tool_calls"), mark="train"),
    },
)
# Of conversations before answers that people judged.
PROMPT, OPENAI_PROMPT, SHAREGPT_PROMPT = (replace(dialect, mark="") for dialect in (MESSAGES, OPENAI, SHAREGPT))
