"""The system prompts and tools that the model was given in the turns of sessions.

They are read from what was imported of the sessions' runs.

The prompt of a turn is the one that was recorded for its own run; else the last one that was recorded in its session
before the turn ended. It is used when it is whole, and of another session never.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from artifacts.models import Artifact
from ledger.collectors import placeholders
from ledger.collectors.trajectories import COMPILED, MODEL_INPUTS
from ledger.models import Session, TrajectoryEvent
from ledger.transcripts.extras_store import SYSTEM_PROMPT, TOOL_SCHEMAS
from openclaw_web.sqlite.json_columns import decode

from ...exporters.outcomes import SampleOutcome
from ...exporters.prompts import (
    COLUMNS,
    INFERRED,
    LOST,
    NO_PROMPTS,
    NOT_RECORDED,
    SYSTEM,
    TOOLS,
    WITH_PLACEHOLDERS,
    WITHHELD,
    Part,
    PromptColumns,
    build_empty_columns,
    build_empty_part,
)
from ...exporters.redaction import Redactor
from ...exporters.samples import ExportSample
from ..options import FLAGGED, PROMPT_CHARACTERS, Options
from .inferred_tools import build_inferred_part
from .prompt_parts import PartCache, StoredContent

FACTS = {SYSTEM: "systemPrompt", TOOLS: "tools"}  # of a step
KINDS = {SYSTEM_PROMPT: SYSTEM, TOOL_SCHEMAS: TOOLS}  # of an artifact
TYPES = (COMPILED, "prompt.submitted")
NONE_RECORDED = build_empty_columns(NOT_RECORDED)
NO_TOOLS = build_empty_part(TOOLS, NOT_RECORDED)
# Reasons for which a recorded list of tools is no list: the calls of the agent tell more.
NO_LISTS = frozenset({NOT_RECORDED, placeholders.TRUNCATED, placeholders.REDACTED, placeholders.UNKNOWN_FORM, LOST})


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """A prompt column as one step of a run has it.

    It has the handle of an artifact, or the reason why there is none.
    """

    at: int  # milliseconds; 0: unknown
    run_id: str
    handle: str
    left_out: str = ""


class SessionPrompts:
    """The prompts of one session, for its turns as they are read."""

    def __init__(
        self,
        records: dict[str, list[RecordedPrompt]],
        stored: dict[str, StoredContent],
        parts: PartCache,
        is_withheld: bool,
        inferred: Callable[[], Part] = lambda: NO_TOOLS,
    ):
        self.inferred = inferred
        self.stored = stored
        self.parts = parts
        self.is_withheld = is_withheld
        self.columns = {column: _Column(records.get(column, [])) for column in COLUMNS}
        self.is_empty = not any(records.values())
        self._turns: dict[int, _Turn] = defaultdict(_Turn)
        self._latest: tuple[list[RecordedPrompt | None], PromptColumns] = ([], NO_PROMPTS)

    def add_message(self, turn_number: int | None, at: int, run_id: str) -> None:
        """Add a message: the time and the run of its turn."""
        if turn_number is not None:
            turn = self._turns[turn_number]
            turn.ends_at = max(turn.ends_at, at)
            if run_id:
                turn.runs.add(run_id)

    def find_prompts(self, sample: ExportSample) -> PromptColumns:
        """The prompt columns that the model had in the turn of a sample.

        They are empty for a turn whose messages were not read.
        """
        if self.is_empty:
            return self._find_without_records()
        turn = self._turns.get(sample.turn_number)
        if turn is None:
            return NONE_RECORDED
        records = [self.columns[column].nearest(turn) for column in COLUMNS]
        if records != self._latest[0]:
            parts = {
                column: self._build_column(column, record) for column, record in zip(COLUMNS, records, strict=True)
            }
            self._latest = (records, PromptColumns(parts))
        return self._latest[1]

    def _find_without_records(self):
        """The columns of a session of which nothing is recorded."""
        if not self._latest[1].parts:
            parts = {column: self._build_column(column, None) for column in COLUMNS}
            self._latest = ([], PromptColumns(parts))
        return self._latest[1]

    def _build_column(self, column, record) -> Part:
        part = self._build_recorded(column, record)
        if column == TOOLS and part.left_out in NO_LISTS:
            inferred = self.inferred()
            return part if inferred.left_out else replace(inferred, missing=part.left_out)
        return part

    def _build_recorded(self, column, record) -> Part:
        if record is None:
            return build_empty_part(column, NOT_RECORDED)
        if record.left_out:
            return build_empty_part(column, record.left_out)
        if self.is_withheld and column == SYSTEM:
            return build_empty_part(column, WITHHELD)
        stored = self.stored.get(record.handle)
        return self.parts.get_part(column, record.handle, stored) if stored else build_empty_part(column, LOST)


@dataclass(slots=True)
class _Turn:
    """When the last message of a turn was written, and in which runs its messages were."""

    ends_at: int = 0
    runs: set[str] = field(default_factory=set)


class _Column:
    """The records of one column, the earliest first."""

    def __init__(self, records: list[RecordedPrompt]):
        self.by_run = {record.run_id: record for record in records if record.run_id}
        self.timed = [record for record in records if record.at]
        self.times = [record.at for record in self.timed]

    def nearest(self, turn: _Turn) -> RecordedPrompt | None:
        """The last record of the turn's own runs, else the last one before the turn ended."""
        own = [self.by_run[run_id] for run_id in turn.runs if run_id in self.by_run]
        if own:
            return max(own, key=lambda record: (record.at, record.run_id))
        place = bisect_right(self.times, turn.ends_at)
        return self.timed[place - 1] if place else None


class PromptReader:
    """Reads the prompts of many sessions of an export."""

    def __init__(self, characters: int, redactor: Redactor, *, include_flagged: bool):
        self.parts = PartCache(characters, redactor, include_flagged=include_flagged)
        self.characters = characters
        self._inferred = ("", NO_TOOLS)  # of the agent that was asked for last

    def read_sessions(self, db: str, session_ids: list[str]) -> dict[str, SessionPrompts]:
        """The prompts of each of these sessions of one agent; without `db` none are known."""
        if not db:
            return {session_id: SessionPrompts({}, {}, self.parts, is_withheld=False) for session_id in session_ids}
        inferred = partial(self._infer_tools, db)
        records: dict[str, dict[str, list[RecordedPrompt]]] = defaultdict(lambda: defaultdict(list))
        stored: dict[str, dict[str, StoredContent]] = defaultdict(dict)
        for session_id, column, record in _read_steps(db, session_ids):
            records[session_id][column].append(record)
        for session_id, column, handle, stored_content, bundled in _read_artifacts(db, session_ids):
            stored[session_id][handle] = stored_content
            records[session_id][column] += bundled
        for columns in records.values():
            for column_records in columns.values():
                column_records.sort(key=lambda record: (record.at, not record.left_out))
        withheld = Session.objects.using(db).filter(id__in=session_ids, withheld_count__gt=0)
        of_withheld = set(withheld.values_list("id", flat=True))
        return {
            session_id: SessionPrompts(
                records[session_id], stored[session_id], self.parts, session_id in of_withheld, inferred
            )
            for session_id in session_ids
        }

    def _infer_tools(self, db: str) -> Part:
        """The tools of an agent as its calls tell, read once for all of its sessions."""
        if self._inferred[0] != db:
            self._inferred = (db, self.parts.redact(TOOLS, build_inferred_part(db, self.characters)))
        return self._inferred[1]


def build_prompt_reader(options: Options, redactor: Redactor) -> PromptReader | None:
    """The reader of an export's prompts, redacted; None when its rows have none."""
    if not options.shape.has_history:
        return None
    return PromptReader(PROMPT_CHARACTERS, redactor, include_flagged=FLAGGED in options.include)


def _read_steps(db, session_ids) -> Iterator[tuple[str, str, RecordedPrompt]]:
    steps = TrajectoryEvent.objects.using(db).filter(session_id__in=session_ids, type__in=TYPES)
    steps = steps.order_by("session_id", "created_at", "seq")
    for session_id, type_, run_id, at, about_json in steps.values_list(
        "session_id", "type", "run_id", "created_at", "about_json"
    ):
        step_facts = decode(about_json)
        for column, fact in FACTS.items():
            handle, why = step_facts.get(fact), step_facts.get(MODEL_INPUTS[fact])
            if why or isinstance(handle, str):
                yield session_id, column, RecordedPrompt(at or 0, run_id, handle or "", why or "")
            elif type_ == COMPILED:  # the step should name it and does not; an earlier prompt does not replace it
                yield session_id, column, RecordedPrompt(at or 0, run_id, "", placeholders.UNKNOWN_FORM)


def _read_artifacts(db, session_ids) -> Iterable[tuple[str, str, str, StoredContent, list[RecordedPrompt]]]:
    """The contents that were stored for these sessions.

    Contents of a bundle are records of their own.
    """
    rows = Artifact.objects.using(db).filter(session_id__in=session_ids, record_id=None, kind__in=KINDS)
    for session_id, handle, kind, size, meta_json, at in rows.values_list(
        "session_id", "handle", "kind", "bytes", "meta_json", "created_at"
    ):
        meta = decode(meta_json)
        bundled = [RecordedPrompt(at, str(meta.get("run", "")), handle)] if "bundle" in meta else []
        yield session_id, KINDS[kind], handle, StoredContent(size), bundled


class PromptCounts:
    """Counts how many rows of an export have each prompt column, and why others have not."""

    def __init__(self):
        self.filled = Counter(dict.fromkeys(COLUMNS, 0))
        self.left_out: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}
        self.undescribed = 0
        self.calling = 0  # rows that call tools
        self.with_placeholders = 0
        self.inferred: Counter[str] = Counter()  # rows with inferred tools, by why none are recorded

    def count(self, outcome: SampleOutcome) -> None:
        """Count a row that was written."""
        for column, part in outcome.given.parts.items():
            if part.left_out:
                self.left_out[column][part.left_out] += 1
            else:
                self.filled[column] += 1
                self.with_placeholders += part.source == WITH_PLACEHOLDERS
                self.inferred.update([part.missing] if part.source == INFERRED else [])
        self.calling += outcome.has_calls
        self.undescribed += outcome.is_undescribed

    def as_json(self) -> dict[str, Any]:
        """The counts as the manifest has them.

        Rows with each column, rows without it by reason, and rows that call tools they do not describe.
        """
        columns = {
            column: {"rows": self.filled[column], "left_out": dict(sorted(self.left_out[column].items()))}
            for column in COLUMNS
        }
        columns[SYSTEM][WITH_PLACEHOLDERS] = self.with_placeholders
        columns[TOOLS][INFERRED] = dict(sorted(self.inferred.items()))
        return {**columns, "rows_with_undescribed_calls": self.undescribed}
