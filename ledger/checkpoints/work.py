"""Calls of tools in a part, the files that they touched, and errors that stayed open.

The records of the part come first; then the kept records after it, which may still answer a call or follow an error
with a success.
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
    """A call without a result so far."""

    call: dict[str, Any]
    key: tuple[str, str]
    read: list[str]
    modified: list[str]
    is_kept: bool


@dataclass(slots=True)
class Work:
    """Collects calls and errors from records.

    Afterwards `read`, `modified`, `open_calls` and `open_errors` are known.
    """

    read: RecentItems = field(default_factory=lambda: RecentItems(FILES))
    modified: RecentItems = field(default_factory=lambda: RecentItems(FILES))
    open_errors: RecentItems = field(default_factory=lambda: RecentItems(ERRORS))
    open_calls: RecentItems = field(default_factory=lambda: RecentItems(CALLS))
    _waiting: dict[str, PendingCall] = field(default_factory=dict)
    _is_kept: bool = False

    def note(self, part_record: PartRecord) -> None:
        """Add the next record."""
        kind = part_record.row["kind"]
        if kind == "assistant" and not part_record.row["is_synthetic"]:
            self._note_answer(part_record)
        elif kind == "tool_result":
            self._note_result(part_record)

    def end_part(self) -> None:
        """End the part: later records only answer its calls or follow its errors with a success."""
        self._is_kept = True
        for waiting in self._waiting.values():
            self._add_open_call(waiting)

    @property
    def has_open(self) -> bool:
        """Whether kept records may still end a call or an error."""
        return bool(self.open_calls.items or self.open_errors.items)

    def add_named_files(self, read: list[str], modified: list[str]) -> None:
        """Add the files that the compaction itself names."""
        for files, paths in ((self.read, read), (self.modified, modified)):
            for path in paths:
                self._touch_file(files, path, None, is_named=True)

    def _note_answer(self, part_record):
        if part_record.row["is_failed"]:
            self._add_error(
                THE_MODEL, part_record, "model", part_record.facts.error or part_record.facts.stop_reason or ""
            )
        else:
            self._mark_put_right(THE_MODEL, part_record)
        for number, call in enumerate(part_record.facts.calls):
            if not call.id:  # no result can be matched to it
                continue
            if (earlier_call := self._waiting.pop(call.id, None)) and not earlier_call.is_kept:
                self._add_open_call(earlier_call)
            self._waiting[call.id] = _waiting(part_record, number, call, is_kept=self._is_kept)
            if len(self._waiting) > WAITING:
                oldest = self._waiting.pop(next(iter(self._waiting)))
                if not oldest.is_kept:
                    self._add_open_call(oldest)

    def _note_result(self, part_record):
        waiting = self._waiting.pop(part_record.facts.tool_call_id or "", None)
        key = waiting.key if waiting else (part_record.facts.tool_name or "", "")
        if waiting and self._is_kept and not waiting.is_kept:
            waiting.call["answered_by"] = part_record.record_id
        if part_record.row["is_failed"]:
            self._add_error(key, part_record, "tool", _find_error_line(part_record))
            return
        self._mark_put_right(key, part_record)
        if waiting and not waiting.is_kept:
            for files, paths in ((self.read, waiting.read), (self.modified, waiting.modified)):
                for path in paths:
                    self._touch_file(files, path, waiting.call)

    def _add_open_call(self, waiting):
        self.open_calls.put((waiting.call["record_id"], waiting.call["number"]), waiting.call)

    def _add_error(self, key, part_record, kind, text):
        if self._is_kept:
            return
        before = self.open_errors.get(key)
        exit_code = part_record.facts.details.get("exitCode")
        error = {
            "kind": kind,
            "tool": clip_line(key[0], ARGUMENT),
            "argument": key[1],
            "record_id": part_record.record_id,
            "turn": part_record.row["turn_number"],
            "at": part_record.row["created_at"],
            "exit_code": exit_code if type(exit_code) is int and abs(exit_code) < 2**31 else None,
            "text": clip_line(text, LINE),
            "count": (before["count"] if before else 0) + 1,
            "put_right_by": None,
        }
        self.open_errors.put(key, error)

    def _mark_put_right(self, key, part_record):
        if not self._is_kept:
            self.open_errors.drop(key)
        elif (error := self.open_errors.get(key)) and error["put_right_by"] is None:
            error["put_right_by"] = part_record.record_id

    def _touch_file(self, files, path, call, *, is_named=False):
        path = clip(path, PATH)
        file = files.get(path) or {"path": path, "calls": 0, "record_id": None, "turn": None, "is_named": False}
        file["is_named"] = file["is_named"] or is_named
        if call:
            file |= {"calls": file["calls"] + 1, "record_id": call["record_id"], "turn": call["turn"]}
        files.put(path, file)


def _waiting(part_record, number, call: ToolCall, *, is_kept):
    texts = (call.arguments[name] for name in MAIN_ARGUMENTS if isinstance(call.arguments.get(name), str))
    main = clip_line(next(texts, ""), ARGUMENT)
    call_item = {
        "record_id": part_record.record_id,
        "number": number,
        "tool": clip_line(call.name, ARGUMENT),
        "argument": main,
        "turn": part_record.row["turn_number"],
        "at": part_record.row["created_at"],
        "answered_by": None,
    }
    return PendingCall(call_item, (call.name, main), *_find_files(call), is_kept)


def _find_files(call):
    """`(files it reads, files it changes)` as the arguments of the call name them."""
    name = call.name.lower()
    if name in PATCHES:
        texts = [value for value in call.arguments.values() if isinstance(value, str)]
        return [], [(match[1] or match[2]).strip() for text in texts for match in PATCHED.finditer(text)]
    values = (call.arguments.get(argument) for argument in PATH_ARGUMENTS)
    path = next((value for value in values if isinstance(value, str) and value), None)
    if path is None or name not in READS | WRITES:
        return [], []
    return ([path], []) if name in READS else ([], [path])


def _find_error_line(part_record):
    """The line of a failed result that tells the error.

    For an output that is an artifact this is its summary.
    """
    if outputs := parse_stashed(part_record.row["trim_json"]):
        return outputs[0].summary
    error = part_record.facts.details.get("error")
    if isinstance(error, str) and error:
        return error
    lines = [line for line in part_record.facts.text[:20_000].splitlines() if line.strip()]
    return next((line for line in lines if SAYS_ERROR.search(line[:2000])), lines[-1] if lines else "")
