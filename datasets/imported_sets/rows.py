"""The rows of other tools as conversations: one function a format.

Shapes: `messages`, `sharegpt`, `alpaca` and `preference` as TRL, LLaMA-Factory and Hugging Face `datasets` read them;
`argilla` as `Dataset.records.to_json` of Argilla 2 writes them; `label-studio` as its JSON export does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.utils.translation import gettext as _

from ..models import DatasetSample

Status = DatasetSample.Status
SYSTEM, USER, AGENT, TOOL, CALL = "system", "user", "assistant", "tool", "function_call"
ROLES = {
    "system": SYSTEM, "developer": SYSTEM, "user": USER, "human": USER, "assistant": AGENT, "gpt": AGENT,
    "model": AGENT, "tool": TOOL, "function": TOOL, "observation": TOOL, "function_call": CALL,
}  # fmt: skip
QUESTIONS = ("prompt", "instruction", "question", "input", "text")
REPLIES = ("response", "completion", "output", "answer", "reply", "generation", "chosen")
CHATS = ("messages", "conversations", "conversation", "chat", "dialogue")
VERDICTS = {
    **dict.fromkeys(("approve", "approved", "accept", "accepted", "good", "yes", "correct", "keep"), Status.APPROVED),
    **dict.fromkeys(("reject", "rejected", "bad", "no", "incorrect", "wrong", "discard"), Status.REJECTED),
}
LONGEST_NAME = 200  # characters of an annotator's name
MOST_MESSAGES = 2_000


class WrongRow(Exception):
    """A row that is no conversation of its format; `args` has one sentence."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Message:
    """A message of a row: of the system, the user, the assistant with its calls, or the result of one (`call_id`)."""

    role: str
    text: str
    calls: list[Call] = field(default_factory=list)
    call_id: str = ""
    tool: str = ""


@dataclass(slots=True)
class Conversation:
    """A row: its messages, and what its annotators said; `edited` is the last reply as it should be."""

    messages: list[Message]
    status: str = Status.PENDING
    edited: str | None = None
    annotator: str = ""

    @property
    def turns(self) -> list[list[Message]]:
        """The messages from each of the user's to the reply, without those of the system."""
        turns: list[list[Message]] = []
        for message in self.messages:
            if message.role == USER:
                turns.append([message])
            elif message.role != SYSTEM:
                turns[-1].append(message)
        return turns


def read_messages(row: dict[str, Any]) -> Conversation:
    """A row of `messages`."""
    return Conversation(read_chat(row.get("messages")))


def read_sharegpt(row: dict[str, Any]) -> Conversation:
    """A row of `conversations`, with a text `system` beside them."""
    return Conversation(read_chat(row.get("conversations"), row.get("system")))


def read_alpaca(row: dict[str, Any]) -> Conversation:
    """A row of `instruction`, `input` and `output`, with `history` and `system` where it has them."""
    question = "\n".join(text for text in (_read_text(row, "instruction"), row.get("input")) if text)
    history = row.get("history") or []
    if not isinstance(history, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in history):
        raise WrongRow(_("“history” is no list of pairs."))
    pairs = [*history, [question, _read_text(row, "output")]]
    chat = [
        {"role": role, "content": text}
        for pair in pairs
        for role, text in zip((USER, AGENT), pair, strict=True)
    ]  # fmt: skip
    return Conversation(read_chat(chat, row.get("system")))


def read_preference(row: dict[str, Any]) -> Conversation:
    """A row of `chosen` and `rejected`, texts or messages, with a `prompt` or with the same messages before both."""
    prompt, chosen, rejected = (_build_chat(row.get(name), role) for name, role in PREFERENCE)
    if not chosen or not rejected or chosen[:-1] != rejected[:-1]:
        raise WrongRow(_("“chosen” and “rejected” are not two answers to the same messages."))
    conversation = Conversation(read_chat([*prompt, *rejected]), Status.APPROVED)
    conversation.edited = read_chat([*prompt, *chosen])[-1].text
    return conversation


PREFERENCE = (("prompt", USER), ("chosen", AGENT), ("rejected", AGENT))


def read_argilla(row: dict[str, Any]) -> Conversation:
    """A record of Argilla: `fields`, and the first response of each question; `discarded` is a rejection."""
    conversation = _read_fields(row.get("fields"))
    responses = row.get("responses") or {}
    if not isinstance(responses, dict):
        raise WrongRow(_("“responses” is no object of questions."))
    for answers in responses.values():
        answer = answers[0] if isinstance(answers, list) and answers else {}
        if isinstance(answer, dict):
            _add_answer(conversation, answer.get("value"), answer.get("user_id"))
            if answer.get("status") == "discarded":
                conversation.status = Status.REJECTED
    return conversation


def read_label_studio(row: dict[str, Any]) -> Conversation:
    """A task of Label Studio: `data`, and its last annotation that was not cancelled."""
    conversation = _read_fields(row.get("data"))
    annotations = row.get("annotations") or []
    if not isinstance(annotations, list):
        raise WrongRow(_("“annotations” is no list."))
    done = [row for row in annotations if isinstance(row, dict) and not row.get("was_cancelled")]
    for result in (done[-1].get("result") or []) if done else ():
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(value, dict):
            answers = value.get("choices") or value.get("text") or [None]
            _add_answer(
                conversation, answers[0] if isinstance(answers, list) else answers, done[-1].get("completed_by")
            )
    return conversation


FORMATS: dict[str, Callable[[dict[str, Any]], Conversation]] = {
    "messages": read_messages,
    "sharegpt": read_sharegpt,
    "alpaca": read_alpaca,
    "preference": read_preference,
    "argilla": read_argilla,
    "label-studio": read_label_studio,
}


def read_chat(chat: Any, system: Any = None) -> list[Message]:
    """The messages of a chat in the spellings of OpenAI and ShareGPT. Raises WrongRow."""
    if not isinstance(chat, list) or not chat or len(chat) > MOST_MESSAGES:
        raise WrongRow(_("It has no list of messages, or more than %(most)s.") % {"most": f"{MOST_MESSAGES:,}"})
    messages = [Message(SYSTEM, system)] if isinstance(system, str) and system else []
    waiting: list[Call] = []
    for entry in chat:
        message = _read_message(entry, len(messages))
        if message.role == SYSTEM and any(earlier.role != SYSTEM for earlier in messages):
            raise WrongRow(_("A message of the system stands after others."))
        if message.role == USER and messages and messages[-1].role in (USER, TOOL):
            raise WrongRow(_("A message of the user follows one that has no reply."))
        if message.role in (AGENT, TOOL) and not any(earlier.role == USER for earlier in messages):
            raise WrongRow(_("It does not begin with a message of the user."))
        if message.role == TOOL:
            fits = (call for call in waiting if message.call_id in ("", call.id) and message.tool in ("", call.name))
            if (call := next(fits, None)) is None:
                raise WrongRow(_("A result of a tool has no call."))
            waiting.remove(call)
            message.call_id, message.tool = call.id, call.name
        waiting = [*([] if message.role == USER else waiting), *message.calls]
        if len(waiting) > MOST_MESSAGES:
            raise WrongRow(_("More than %(most)s calls of tools have no result.") % {"most": f"{MOST_MESSAGES:,}"})
        messages.append(message)
    if not all(_has_reply(turn) for turn in Conversation(messages).turns) or messages[-1].role != AGENT:
        raise WrongRow(_("A message of the user has no reply."))
    return messages


def _has_reply(turn):
    return turn[-1].role == AGENT and not turn[-1].calls and bool(turn[-1].text.strip()) and bool(turn[0].text.strip())


def _read_message(entry, number):
    if not isinstance(entry, dict):
        raise WrongRow(_("A message is no object."))
    name = entry.get("role", entry.get("from"))
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise WrongRow(_("The role “%(role)s” is not known.") % {"role": str(name)[:40]})
    content = entry.get("content", entry.get("value"))
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        content = "\n".join(parts) if all(isinstance(part, str) for part in parts) else parts
    if role == CALL:
        return Message(AGENT, "", [_read_call(_parse_object(content), number, 0)])
    calls = entry.get("tool_calls") or [] if role == AGENT else []
    if content is None and (calls or role == TOOL):
        content = ""
    if not isinstance(content, str) or not isinstance(calls, list) or "\0" in content:
        raise WrongRow(_("A message has content that is no text."))
    read = [_read_call(call, number, place) for place, call in enumerate(calls)]
    return Message(role, content, read, str(entry.get("tool_call_id") or ""), _read_tool(entry, role))


def _read_tool(entry, role):
    name = entry.get("name")
    return name if role == TOOL and isinstance(name, str) else ""


def _read_call(call, number, place):
    function = call.get("function", call) if isinstance(call, dict) else {}
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        raise WrongRow(_("A call of a tool has no name."))
    return Call(str(call.get("id") or f"call_{number}_{place}"), name, _parse_object(function.get("arguments") or {}))


def _parse_object(value):
    try:
        parsed = orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        raise WrongRow(_("The arguments of a call are no JSON object."))
    return parsed


def _read_text(row, name):
    text = row.get(name)
    if not isinstance(text, str):
        raise WrongRow(_("It has no text “%(name)s”.") % {"name": name})
    return text


def _build_chat(value, role):
    """A text, a message or messages, as messages."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    return value if isinstance(value, list) else [value] if value else []


def _read_fields(fields):
    """The conversation in the fields of a record: a chat, or a question and its reply."""
    if not isinstance(fields, dict):
        raise WrongRow(_("It has no fields."))
    chat = next((fields[name] for name in CHATS if isinstance(fields.get(name), list)), None)
    if chat is not None:
        return Conversation(read_chat(chat))
    texts = [next((fields[name] for name in names if isinstance(fields.get(name), str)), "") for names in PAIR]
    if not all(texts):
        raise WrongRow(
            _("Neither a chat nor a question with its reply is in its fields: %(names)s.")
            % {"names": ", ".join(str(name)[:40] for name in list(fields)[:10])}
        )
    return Conversation(read_chat([{"role": role, "content": text} for role, text in zip(ASKED, texts, strict=True)]))


PAIR, ASKED = (QUESTIONS, REPLIES), (USER, AGENT)


def _add_answer(conversation, value, annotator):
    """Take the answer of an annotator: a known word is the verdict, another text the reply as it should be."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str) and value.strip() and "\0" not in value:
        verdict = VERDICTS.get(value.strip().lower())
        if verdict:
            conversation.status = verdict
        elif len(value.split()) > 1:
            conversation.edited = value
            conversation.status = conversation.status if conversation.status != Status.PENDING else Status.APPROVED
    name = annotator.get("email") or annotator.get("id") if isinstance(annotator, dict) else annotator
    named = str("" if name is None else name).replace("\0", "")[:LONGEST_NAME]
    conversation.annotator = conversation.annotator or named
