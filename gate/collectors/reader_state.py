"""Stores the memory of the plugin log's reader as JSON.

The next import continues where this one stopped.
"""

import math
from collections import deque
from dataclasses import fields
from typing import Any

from .buffers import Buffer, PluginState, Question
from .plugin_log import LogReader, PendingDecision
from .source_decisions import RecentMessages, SourceDecision, SourceMessage

VERSION = 1  # raised when the content of the state changes: logs are then read from their start
State = dict[str, Any]
PLAIN = (
    *("knows_all", "process", "model", "workspace", "now", "capacity", "width", "is_silent", "near", "near_at"),
    *("waiting", "lost", "last", "held"),
)


def dump(reader: LogReader) -> State:
    """Return the state of a reader that has given everything that was ready."""
    questions: dict[int, tuple[int, Question]] = {}
    plugin_state = _dump_held(reader._held, questions)
    pending = [
        {
            "at": generated.at,
            "digest": generated.digest,
            "asked": _number_question(generated.question, questions),
            "found": generated.decision and _dump_fields(generated.decision),
        }
        for generated in reader._pending
    ]
    return {
        "version": VERSION,
        "held": plugin_state,
        "pending": pending,
        "questions": [_dump_fields(question) for _index, question in questions.values()],
        "originals": reader._originals,
        "seen": sorted(reader._seen),
        "moment": reader._moment,
    }


def load(state: State) -> LogReader | None:
    """Return a reader that continues from a state; None for an unknown version."""
    if state.get("version") != VERSION:
        return None
    reader = LogReader()
    questions = [Question(**_load_fields(question)) for question in state["questions"]]
    reader._held = _load_held(state["held"], questions)
    reader._pending = [
        PendingDecision(
            entry["at"],
            entry["digest"],
            None if entry["asked"] is None else questions[entry["asked"]],
            entry["found"] and SourceDecision(**_load_fields(entry["found"])),
        )
        for entry in state["pending"]
    ]
    reader._originals = state["originals"]
    reader._seen, reader._moment = set(state["seen"]), state["moment"]
    return reader


def _dump_held(plugin_state, questions):
    key, message, original = plugin_state.uncreated or (None, None, None)
    return {name: getattr(plugin_state, name) for name in PLAIN} | {
        "uncreated": plugin_state.uncreated and [key, _dump_message(message), original],
        "before": plugin_state.before and _dump_held(plugin_state.before, questions),
        "mixed_at": _number_or_word(plugin_state.mixed_at),
        "gap_at": _number_or_word(plugin_state.gap_at),
        "buffers": {key: _dump_buffer(buffer) for key, buffer in plugin_state.buffers.items()},
        "open": {key: _number_question(question, questions) for key, question in plugin_state.open.items()},
        "busy": list(plugin_state.busy),
    }


def _load_held(state, questions):
    plugin_state = PluginState(**{name: state[name] for name in PLAIN})
    if state["uncreated"]:
        key, message, original = state["uncreated"]
        plugin_state.uncreated = key, SourceMessage(*message), original
    plugin_state.before = state["before"] and _load_held(state["before"], questions)
    plugin_state.mixed_at, plugin_state.gap_at = float(state["mixed_at"]), float(state["gap_at"])
    plugin_state.buffers = {key: _load_buffer(buffer) for key, buffer in state["buffers"].items()}
    plugin_state.open = {key: questions[number] for key, number in state["open"].items()}
    plugin_state.busy = dict.fromkeys(state["busy"])
    return plugin_state


def _dump_buffer(buffer):
    return {
        "roles": list(buffer.roles),
        "most": buffer.roles.maxlen,
        "newest": [_dump_message(message) for message in buffer.newest.messages],
        "original": buffer.original,
        "is_whole": buffer.is_whole,
        "is_sure": buffer.is_sure,
    }


def _load_buffer(state):
    newest = RecentMessages()
    for message in state["newest"]:
        newest.add(SourceMessage(*message))
    roles = deque(state["roles"], maxlen=state["most"])
    return Buffer(roles, newest, state["original"], state["is_whole"], state["is_sure"])


def _number_question(question, questions):
    """Return the number of a question in the state.

    A decision that waits and a conversation may have the same question.
    """
    if question is None:
        return None
    return questions.setdefault(id(question), (len(questions), question))[0]


def _dump_fields(item):
    """Return the fields of a question or a decision, messages as lists."""
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    window, reply = values["window"], values["reply"]
    return values | {
        "window": window and [_dump_message(message) for message in window],
        "reply": reply and _dump_message(reply),
    }


def _load_fields(values):
    window, reply = values["window"], values["reply"]
    messages = None if window is None else tuple(SourceMessage(*message) for message in window)
    return values | {"window": messages, "reply": reply and SourceMessage(*reply)}


def _dump_message(message):
    return [message.role, message.message, message.timestamp, message.sender]


def _number_or_word(value):
    return value if math.isfinite(value) else str(value)
