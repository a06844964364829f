"""What was begun and how it ended: calls of tools, the files they touched, what failed and was not put right.

The records of the part come first; then those that were kept, which may still answer a call or put an error right.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from ..collectors.records import ToolCall
from ..session.timeline import MAIN_ARGUMENTS
from ..transcripts.trimming import parse_stashed
from .compactions import PartRecord
from .recent_items import RecentItems
from .texts import clip, clip_line

FILES, CALLS, ERRORS = 200, 50, 50
WAITING = 5_000  # calls without an answer that are remembered; more are open at once
PATH, ARGUMENT, LINE = 300, 160, 240  # characters
READS = frozenset({"read", "read_file"})
WRITES = frozenset({"write", "write_file", "edit", "edit_file", "multi_edit"})
PATCHES = frozenset({"apply_patch"})
PATH_ARGUMENTS = ("path", "file_path", "filePath", "file")
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
SAYS_ERROR = re.compile(r"error|exception|fatal|fail|denied|no such|not found", re.IGNORECASE)
THE_MODEL = ("", "")  # stands for its own calls among those of tools


@dataclass(slots=True)
class PendingCall:
    """A call that nobody answered yet."""

    call: dict[str, Any]
    key: tuple[str, str]
    read: list[str]
    modified: list[str]
    is_kept: bool


@dataclass(slots=True)
class Work:
    """Collects from records; afterwards `read`, `modified`, `open_calls` and `open_errors` are known."""

    read: RecentItems = field(default_factory=lambda: RecentItems(FILES))
    modified: RecentItems = field(default_factory=lambda: RecentItems(FILES))
    open_errors: RecentItems = field(default_factory=lambda: RecentItems(ERRORS))
    open_calls: RecentItems = field(default_factory=lambda: RecentItems(CALLS))
    _waiting: dict[str, PendingCall] = field(default_factory=dict)
    _is_kept: bool = False

    def note(self, seen: PartRecord) -> None:
        """Look at the next record."""
        kind = seen.row["kind"]
        if kind == "assistant" and not seen.row["is_synthetic"]:
            self._note_answer(seen)
        elif kind == "tool_result":
            self._note_result(seen)

    def end_part(self) -> None:
        """What comes from here on was kept: it ends things, and begins none."""
        self._is_kept = True
        for waiting in self._waiting.values():
            self._open(waiting)

    @property
    def has_open(self) -> bool:
        """Whether records that were kept may still end something."""
        return bool(self.open_calls.items or self.open_errors.items)

    def add_named_files(self, read: list[str], modified: list[str]) -> None:
        """Add the files that the compaction itself names."""
        for found, paths in ((self.read, read), (self.modified, modified)):
            for path in paths:
                self._touch(found, path, None, is_named=True)

    def _note_answer(self, seen):
        if seen.row["is_failed"]:
            self._failed(THE_MODEL, seen, "model", seen.said.error or seen.said.stop_reason or "")
        else:
            self._put_right(THE_MODEL, seen)
        for number, call in enumerate(seen.said.calls):
            if not call.id:  # nothing can be said to answer it
                continue
            if (before := self._waiting.pop(call.id, None)) and not before.is_kept:
                self._open(before)
            self._waiting[call.id] = _waiting(seen, number, call, is_kept=self._is_kept)
            if len(self._waiting) > WAITING:
                oldest = self._waiting.pop(next(iter(self._waiting)))
                if not oldest.is_kept:
                    self._open(oldest)

    def _note_result(self, seen):
        waiting = self._waiting.pop(seen.said.tool_call_id or "", None)
        key = waiting.key if waiting else (seen.said.tool_name or "", "")
        if waiting and self._is_kept and not waiting.is_kept:
            waiting.call["answered_by"] = seen.record_id
        if seen.row["is_failed"]:
            self._failed(key, seen, "tool", _complaint(seen))
            return
        self._put_right(key, seen)
        if waiting and not waiting.is_kept:
            for found, paths in ((self.read, waiting.read), (self.modified, waiting.modified)):
                for path in paths:
                    self._touch(found, path, waiting.call)

    def _open(self, waiting):
        self.open_calls.put((waiting.call["record_id"], waiting.call["number"]), waiting.call)

    def _failed(self, key, seen, kind, text):
        if self._is_kept:
            return
        before = self.open_errors.get(key)
        exit_code = seen.said.details.get("exitCode")
        error = {
            "kind": kind,
            "tool": clip_line(key[0], ARGUMENT),
            "argument": key[1],
            "record_id": seen.record_id,
            "turn": seen.row["turn_number"],
            "at": seen.row["created_at"],
            "exit_code": exit_code if type(exit_code) is int and abs(exit_code) < 2**31 else None,
            "text": clip_line(text, LINE),
            "count": (before["count"] if before else 0) + 1,
            "put_right_by": None,
        }
        self.open_errors.put(key, error)

    def _put_right(self, key, seen):
        if not self._is_kept:
            self.open_errors.drop(key)
        elif (error := self.open_errors.get(key)) and error["put_right_by"] is None:
            error["put_right_by"] = seen.record_id

    def _touch(self, found, path, call, *, is_named=False):
        path = clip(path, PATH)
        file = found.get(path) or {"path": path, "calls": 0, "record_id": None, "turn": None, "is_named": False}
        file["is_named"] = file["is_named"] or is_named
        if call:
            file |= {"calls": file["calls"] + 1, "record_id": call["record_id"], "turn": call["turn"]}
        found.put(path, file)


def _waiting(seen, number, call: ToolCall, *, is_kept):
    main = _main_argument(call.arguments)
    about = {
        "record_id": seen.record_id,
        "number": number,
        "tool": clip_line(call.name, ARGUMENT),
        "argument": main,
        "turn": seen.row["turn_number"],
        "at": seen.row["created_at"],
        "answered_by": None,
    }
    return PendingCall(about, (call.name, main), *_files(call), is_kept)


def _files(call):
    """`(files it reads, files it changes)` as the call names them."""
    name = call.name.lower()
    if name in PATCHES:
        texts = [value for value in call.arguments.values() if isinstance(value, str)]
        return [], [(match[1] or match[2]).strip() for text in texts for match in PATCHED.finditer(text)]
    values = (call.arguments.get(argument) for argument in PATH_ARGUMENTS)
    path = next((value for value in values if isinstance(value, str) and value), None)
    if path is None or name not in READS | WRITES:
        return [], []
    return ([path], []) if name in READS else ([], [path])


def _main_argument(arguments):
    texts = (arguments[name] for name in MAIN_ARGUMENTS if isinstance(arguments.get(name), str))
    return clip_line(next(texts, ""), ARGUMENT)


def _complaint(seen):
    """The line of a result that says what is wrong: of an output that is an artifact, its summary."""
    if outputs := parse_stashed(seen.row["trim_json"]):
        return outputs[0].summary
    error = seen.said.details.get("error")
    if isinstance(error, str) and error:
        return error
    lines = [line for line in seen.said.text[:20_000].splitlines() if line.strip()]
    return next((line for line in lines if SAYS_ERROR.search(line[:2000])), lines[-1] if lines else "")
