"""What the reader of the plugin's log has in memory, as JSON: the next import goes on where this one stopped."""

import math
from collections import deque
from dataclasses import fields
from typing import Any

from .buffers import Buffer, PluginState, Question
from .plugin_log import LogReader, PendingDecision
from .source_decisions import RecentMessages, SourceDecision, SourceMessage

VERSION = 1  # raised when readers keep something else: logs are then read from their start
State = dict[str, Any]
PLAIN = (
    *("knows_all", "process", "model", "workspace", "now", "capacity", "width", "is_silent", "near", "near_at"),
    *("waiting", "lost", "last", "held"),
)


def dump(reader: LogReader) -> State:
    """The state of a reader that has given everything that was ready."""
    questions: dict[int, tuple[int, Question]] = {}
    held = _held(reader._held, questions)
    pending = [
        {
            "at": one.at,
            "digest": one.digest,
            "asked": _number(one.asked, questions),
            "found": one.found and _plain(one.found),
        }
        for one in reader._pending
    ]
    return {
        "version": VERSION,
        "held": held,
        "pending": pending,
        "questions": [_plain(question) for _number, question in questions.values()],
        "originals": reader._originals,
        "seen": sorted(reader._seen),
        "moment": reader._moment,
    }


def load(state: State) -> LogReader | None:
    """A reader that goes on from a state; None for one that is not known."""
    if state.get("version") != VERSION:
        return None
    reader = LogReader()
    questions = [Question(**_read(question)) for question in state["questions"]]
    reader._held = _read_held(state["held"], questions)
    reader._pending = [
        PendingDecision(
            one["at"],
            one["digest"],
            None if one["asked"] is None else questions[one["asked"]],
            one["found"] and SourceDecision(**_read(one["found"])),
        )
        for one in state["pending"]
    ]
    reader._originals = state["originals"]
    reader._seen, reader._moment = set(state["seen"]), state["moment"]
    return reader


def _held(held, questions):
    key, said, original = held.uncreated or (None, None, None)
    return {name: getattr(held, name) for name in PLAIN} | {
        "uncreated": held.uncreated and [key, _said(said), original],
        "before": held.before and _held(held.before, questions),
        "mixed_at": _number_or_word(held.mixed_at),
        "gap_at": _number_or_word(held.gap_at),
        "buffers": {key: _buffer(buffer) for key, buffer in held.buffers.items()},
        "open": {key: _number(question, questions) for key, question in held.open.items()},
        "busy": list(held.busy),
    }


def _read_held(state, questions):
    held = PluginState(**{name: state[name] for name in PLAIN})
    if state["uncreated"]:
        key, said, original = state["uncreated"]
        held.uncreated = key, SourceMessage(*said), original
    held.before = state["before"] and _read_held(state["before"], questions)
    held.mixed_at, held.gap_at = float(state["mixed_at"]), float(state["gap_at"])
    held.buffers = {key: _read_buffer(buffer) for key, buffer in state["buffers"].items()}
    held.open = {key: questions[number] for key, number in state["open"].items()}
    held.busy = dict.fromkeys(state["busy"])
    return held


def _buffer(buffer):
    return {
        "roles": list(buffer.roles),
        "most": buffer.roles.maxlen,
        "newest": [_said(said) for said in buffer.newest.messages],
        "original": buffer.original,
        "is_whole": buffer.is_whole,
        "is_sure": buffer.is_sure,
    }


def _read_buffer(state):
    newest = RecentMessages()
    for said in state["newest"]:
        newest.add(SourceMessage(*said))
    roles = deque(state["roles"], maxlen=state["most"])
    return Buffer(roles, newest, state["original"], state["is_whole"], state["is_sure"])


def _number(question, questions):
    """The number of a question in the state: a decision that waits and a conversation may have the same one."""
    if question is None:
        return None
    return questions.setdefault(id(question), (len(questions), question))[0]


def _plain(one):
    """The fields of a question or a decision, messages as lists."""
    values = {each.name: getattr(one, each.name) for each in fields(one)}
    window, reply = values["window"], values["reply"]
    return values | {"window": window and [_said(said) for said in window], "reply": reply and _said(reply)}


def _read(values):
    window, reply = values["window"], values["reply"]
    said = None if window is None else tuple(SourceMessage(*said) for said in window)
    return values | {"window": said, "reply": reply and SourceMessage(*reply)}


def _said(said):
    return [said.role, said.message, said.timestamp, said.sender]


def _number_or_word(value):
    return value if math.isfinite(value) else str(value)
