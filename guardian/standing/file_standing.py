"""Where a memory file stands with OpenClaw: in the prompt, cut, left out, or about to be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models

from agents.models import Agent

from ..collectors.provenance import Record
from .files import GUARDED, CurrentFile, get_spellings, read_files
from .prompt_files import FileEntry, PromptFiles, find_newest_report
from .provenance import find_newest_rows, record_from_row

LIMIT = 20_000  # characters of a file in a prompt
LIMITS = {"USER.md": 4_000}


class State(models.TextChoices):
    """What a person should know first of a file."""

    IN_PROMPT = "in_prompt"
    CUT = "cut"
    MISSING = "missing"
    LEFT_OUT = "left_out"
    WILL_BE_LEFT_OUT = "will_be_left_out"
    NO_RECORD = "no_record"  # in the prompt, and OpenClaw counts it as the agent's
    NO_REPORT = "no_report"
    LINKED = "linked"  # OpenClaw puts no linked file into a prompt
    NOT_KNOWN = "not_known"  # the record is of a version that is not known, or the file cannot be read
    UNEXPLAINED = "unexplained"  # not in the prompt, and nothing says why


@dataclass(frozen=True, slots=True)
class Standing:
    """One file: its state, the record of it, and what the newest ordinary prompt held of it.

    `since`, `session_id` and `session_key` are of the write that the record names; `is_equal` says whether the file
    still has the recorded hash, None without a record.
    """

    file_name: str
    state: State
    raw_chars: int | None = None
    injected_chars: int | None = None
    record: Record | None = None
    is_equal: bool | None = None
    reported_at: int | None = None
    report_session_id: str = ""

    @property
    def lost_chars(self) -> int:
        """How many characters of the file are not in the prompt, as far as that is known."""
        return max(0, (self.raw_chars or 0) - (self.injected_chars or 0))

    @property
    def since(self) -> int | None:
        """When the recorded write was seen."""
        return self.record.observed_at if self.record else None

    @property
    def session_id(self) -> str:
        """The session of the recorded write."""
        return self.record.session_id if self.record else ""

    @property
    def session_key(self) -> str:
        """Its key."""
        return self.record.session_key if self.record else ""

    @property
    def record_hash(self) -> str:
        """The hash that the record has of the file."""
        return self.record.file_hash if self.record else ""

    @property
    def will_be_left_out(self) -> bool:
        """Whether the agent's next write takes the file out of the prompt."""
        is_trusted = self.record is not None and self.record.is_trusted
        return self.file_name in GUARDED and is_trusted and self.is_equal is False


def read_standing(agent: Agent, file_name: str) -> Standing:
    """The standing of one of the five memory files, by what the last import read and the file as it is now."""
    return read_standings(agent, [file_name])[0]


def attach_standings(agent: Agent, files: Iterable[Any]) -> None:
    """Give each memory file of a list its standing."""
    own = [file for file in files if file.is_memory]
    for file, standing in zip(own, read_standings(agent, [file.name for file in own]), strict=True):
        file.standing = standing


def read_standings(agent: Agent, names: Sequence[str]) -> list[Standing]:
    """The same of several files; the report is read once."""
    if not names:
        return []
    report, files = find_newest_report(agent), read_files(agent, names)
    rows = find_newest_rows(agent.db, [spelling for name in names for spelling in get_spellings(name)])
    records = {name: next((rows[one] for one in get_spellings(name) if one in rows), None) for name in names}
    return [_standing(name, records[name], files[name], report) for name in names]


def _standing(name, row, file, report):
    record, entry = record_from_row(row) if row else None, _entry(report, name)
    is_compared = record is not None and file.is_readable
    about = {"record": record, "is_equal": file.sha256 == record.file_hash if is_compared else None}
    if report:
        about |= {"reported_at": report.at, "report_session_id": report.session_id}
    raw, injected = _chars(name, file, entry)
    state = _guarded_state(record, about["is_equal"], file, report, entry) if name in GUARDED else None
    state = state or _prompt_state(file, report, entry, raw, injected)
    if state == State.IN_PROMPT and name in GUARDED and record is None:
        state = State.NO_RECORD
    return Standing(name, state, raw, injected, **about)


def _entry(report: PromptFiles | None, name) -> FileEntry | None:
    return next((report.files[one] for one in get_spellings(name) if one in report.files), None) if report else None


def _guarded_state(record: Record | None, is_equal, file: CurrentFile, report, entry) -> State | None:
    """What follows from the record; None where it has no say."""
    if record is None or not file.is_there or file.is_linked:
        return None
    if not record.is_known or not file.is_readable:
        return State.NOT_KNOWN
    if record.is_untrusted:
        is_back = entry is not None and not entry.is_missing and report.at > (record.observed_at or 0)
        return None if is_back else State.LEFT_OUT
    return None if is_equal else State.WILL_BE_LEFT_OUT


def _prompt_state(file: CurrentFile, report, entry: FileEntry | None, raw, injected) -> State:
    """What follows from the newest report and the file."""
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


def _chars(name, file: CurrentFile, entry: FileEntry | None):
    """How many characters the file has, and how many of them the prompt holds; None where no report says so."""
    if entry is None or entry.is_missing:
        return (file.chars if file.is_there else None), None
    if not file.is_there or not file.is_readable or file.chars == entry.raw_chars:
        return entry.raw_chars, entry.injected_chars
    # The file has changed since: the next prompt holds all of it up to the limit.
    return file.chars, min(file.chars, max(LIMITS.get(name, LIMIT), entry.injected_chars))
