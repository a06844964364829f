"""The standing of a memory file with OpenClaw: in the prompt, cut, or left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models

from agents.models import Agent

from ..collectors.provenance import Record
from .files import GUARDED, CurrentFile, FileEntry, find_newest_report, get_spellings, read_files
from .provenance import find_newest_rows, record_from_row

LIMIT = 20_000  # characters of a file in a prompt
LIMITS = {"USER.md": 4_000}


class State(models.TextChoices):
    """The state of a file that a person should know first."""

    IN_PROMPT = "in_prompt"
    CUT = "cut"
    MISSING = "missing"
    LEFT_OUT = "left_out"
    WILL_BE_LEFT_OUT = "will_be_left_out"
    NO_RECORD = "no_record"  # in the prompt, and OpenClaw counts it as the agent's
    NO_REPORT = "no_report"
    LINKED = "linked"  # OpenClaw leaves linked files out of prompts
    NOT_KNOWN = "not_known"  # the record has an unknown version, or the file cannot be read
    UNEXPLAINED = "unexplained"  # not in the prompt, and nothing says why


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of one file: its state, its record, and its part in the newest prompt.

    Only ordinary prompts count. `since`, `session_id` and `session_key` belong to the write that the record names;
    `is_equal` says whether the file still has the recorded hash, None without a record.
    """

    file_name: str
    state: State
    raw_chars: int | None = None
    injected_chars: int | None = None
    record: Record | None = None
    is_equal: bool | None = None
    reported_at: int | None = None
    report_session_id: str = ""
    changed_at: int = 0  # of the file

    @property
    def is_forecast(self) -> bool:
        """Whether the file was changed after the newest prompt, so that no prompt holds these lines yet."""
        return self.reported_at is not None and self.changed_at > self.reported_at

    @property
    def lost_chars(self) -> int:
        """How many characters of the file are known not to be in the prompt."""
        return max(0, (self.raw_chars or 0) - (self.injected_chars or 0))

    @property
    def since(self) -> int | None:
        """When OpenClaw saw the recorded write, in milliseconds."""
        return self.record.observed_at if self.record else None

    @property
    def session_id(self) -> str:
        return self.record.session_id if self.record else ""

    @property
    def session_key(self) -> str:
        return self.record.session_key if self.record else ""

    @property
    def record_hash(self) -> str:
        return self.record.file_hash if self.record else ""

    @property
    def will_be_left_out(self) -> bool:
        """Whether the agent's next write takes the file out of the prompt."""
        is_trusted = self.record is not None and self.record.is_trusted
        return self.file_name in GUARDED and is_trusted and self.is_equal is False


def read_standing(agent: Agent, file_name: str) -> Standing:
    """Return the standing of one of the five memory files.

    It follows from the last import and from the file as it is now.
    """
    return read_standings(agent, [file_name])[0]


def attach_standings(agent: Agent, files: Iterable[Any]) -> None:
    own = [file for file in files if file.is_memory]
    for file, standing in zip(own, read_standings(agent, [file.name for file in own]), strict=True):
        file.standing = standing


def read_standings(agent: Agent, names: Sequence[str]) -> list[Standing]:
    """Return the standings of several memory files; the report is read once."""
    if not names:
        return []
    report, files = find_newest_report(agent), read_files(agent, names)
    rows = find_newest_rows(agent.db, [spelling for name in names for spelling in get_spellings(name)])
    records = {
        name: next((rows[spelling] for spelling in get_spellings(name) if spelling in rows), None) for name in names
    }
    return [_build_standing(name, records[name], files[name], report) for name in names]


def _build_standing(name, row, file, report):
    record, prompt_files = record_from_row(row) if row else None, report.files if report else {}
    entry = next((prompt_files[spelling] for spelling in get_spellings(name) if spelling in prompt_files), None)
    is_compared = record is not None and file.is_readable
    record_columns = {"record": record, "is_equal": file.sha256 == record.file_hash if is_compared else None}
    record_columns["changed_at"] = file.changed_at
    if report:
        record_columns |= {"reported_at": report.at, "report_session_id": report.session_id}
    raw, injected = _count_chars(name, file, entry)
    state = _state_by_record(record, record_columns["is_equal"], file, report, entry) if name in GUARDED else None
    state = state or _state_by_report(file, report, entry, raw, injected)
    if state == State.IN_PROMPT and name in GUARDED and record is None:
        state = State.NO_RECORD
    return Standing(name, state, raw, injected, **record_columns)


def _state_by_record(record: Record | None, is_equal, file: CurrentFile, report, entry) -> State | None:
    """Return the state that follows from the record; None where the record does not decide."""
    if record is None or not file.is_there or file.is_linked:
        return None
    if not record.is_known or not file.is_readable:
        return State.NOT_KNOWN
    if record.is_untrusted:
        is_back = entry is not None and not entry.is_missing and report.at > (record.observed_at or 0)
        return None if is_back else State.LEFT_OUT
    return None if is_equal else State.WILL_BE_LEFT_OUT


def _state_by_report(file: CurrentFile, report, entry: FileEntry | None, raw, injected) -> State:
    """Return the state that follows from the newest report and the file."""
    if not file.is_there:
        return State.MISSING
    if file.is_linked:
        return State.LINKED
    if report is None or (file.changed_at > report.at and (entry is None or entry.is_missing)):
        return State.NO_REPORT
    if entry is None:
        return State.UNEXPLAINED
    if entry.is_missing:
        return State.MISSING
    return State.CUT if entry.is_cut or injected < raw else State.IN_PROMPT


def _count_chars(name, file: CurrentFile, entry: FileEntry | None):
    """Return how many characters the file has and the prompt holds; None where no report says."""
    if entry is None or entry.is_missing:
        return (file.chars if file.is_there else None), None
    if not file.is_there or not file.is_readable or file.chars == entry.raw_chars:
        return entry.raw_chars, entry.injected_chars
    # The file has changed since: the next prompt holds all of it up to the limit.
    return file.chars, min(file.chars, max(LIMITS.get(name, LIMIT), entry.injected_chars))
