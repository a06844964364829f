"""The prompts that agents were given, as recorded, and tools from stored calls where none are recorded.

Such a tool has the name that was called, and the arguments that were seen with their types. The same store gives the
same list, for all sessions of an agent: a list of the tools of one row would give its answer away.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import orjson

from agents.models import Agent
from artifacts import handles
from artifacts.errors import DamagedArtifact, NoSuchArtifact
from artifacts.models import Artifact
from artifacts.store import blobs, layout
from ledger.collectors import placeholders
from ledger.collectors.records import read_message_facts
from ledger.collectors.trajectories import COMPILED, MODEL_INPUTS
from ledger.models import Session, SessionTool, TrajectoryEvent, TranscriptEvent
from ledger.outputs import stashed_outputs as outputs
from ledger.transcripts.extras_store import SYSTEM_PROMPT, TOOL_SCHEMAS
from openclaw_web.sqlite.json_columns import decode

from ..markers import has_open
from ..redaction import Redactor
from ..sample_texts import ExportSample
from .options import PROMPT_CHARACTERS, Options
from .prompt_columns import (
    CALLS_LEFT_OUT,
    COLUMNS,
    FLAGGED,
    INFERRED,
    LOST,
    NO_PROMPTS,
    NOT_RECORDED,
    REBUILT,
    SYSTEM,
    TOO_LONG,
    TOOLS,
    WITH_PLACEHOLDERS,
    WITHHELD,
    Part,
    PromptColumns,
    UnknownForm,
    build_empty_columns,
    build_empty_part,
    build_system_part,
    build_tools_part,
)
from .rebuilt_prompts import StoredFiles
from .rows import SampleOutcome
from .turns import LEAVE_OUT

MOST_TOOLS, MOST_ARGUMENTS, LONGEST_NAME = 128, 64, 128
SESSIONS, CALLS = 2, 100  # sessions of a tool, and messages with calls of these sessions, that are read
MOST_READ = 20_000  # sums of tools in sessions
CALL_COLUMNS = ("event_json", "full_zstd", "trim_json")
JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
Arguments = dict[str, set[str]]  # the types that were seen of each


def build_inferred_part(db: str, characters: int) -> Part:
    """The column of an agent's tools, as far as its calls tell.

    Empty without calls, and where it would have more than this number of characters.
    """
    try:
        part = build_tools_part(infer_tools(_read_calls(db)), INFERRED) if db else build_empty_part(TOOLS, NOT_RECORDED)
    except UnknownForm:
        return build_empty_part(TOOLS, NOT_RECORDED)
    return part if len(part.text) <= characters else build_empty_part(TOOLS, TOO_LONG)


def infer_tools(calls: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The tools that these calls (name, arguments) used, as functions with the arguments that were seen.

    No argument is required, and no more than MOST_TOOLS tools with MOST_ARGUMENTS arguments are described.
    """
    seen: dict[str, Arguments] = {}
    for name, arguments in calls:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            continue
        if name in seen or len(seen) < MOST_TOOLS:
            _add_arguments(seen.setdefault(name, {}), arguments)
    return [{"name": name, "parameters": _build_schema(seen[name])} for name in sorted(seen)]


def _add_arguments(known: Arguments, arguments):
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        if len(name) <= LONGEST_NAME and (name in known or len(known) < MOST_ARGUMENTS):
            types = known.setdefault(name, set())
            if type(value) in JSON_TYPES:
                types.add(JSON_TYPES[type(value)])


def _build_schema(arguments: Arguments) -> dict[str, Any]:
    properties = {name: _build_property(arguments[name]) for name in sorted(arguments)}
    return {"type": "object", "properties": properties, "required": []}


def _build_property(types: set[str]) -> dict[str, Any]:
    """A property of one type; of values of several types nothing is said."""
    if types == {"integer", "number"}:
        return {"type": "number"}
    if types == {"array"}:
        return {"type": "array", "items": {}}
    return {"type": next(iter(types))} if len(types) == 1 else {}


def _read_calls(db: str) -> Iterator[tuple[str, Any]]:
    """Calls of an agent, from a few sessions of each of its tools."""
    for session_id in sorted(_choose_sessions(db), reverse=True):
        records = TranscriptEvent.objects.using(db).filter(session_id=session_id, is_active=True, tool_call_count__gt=0)
        for columns in records.order_by("seq").values_list(*CALL_COLUMNS)[:CALLS]:
            record, _problem = outputs.read_whole_record(*columns)
            yield from ((call.name, call.arguments) for call in read_message_facts(record).calls)


def _choose_sessions(db):
    """Sessions in which the tools of an agent were called, of each tool the same few."""
    counted = SessionTool.objects.using(db).filter(call_count__gt=0).exclude(tool="").order_by("-session_id", "-date")
    chosen: dict[str, set[str]] = {}
    for tool, session_id in counted.values_list("tool", "session_id")[:MOST_READ]:
        if tool in chosen or len(chosen) < MOST_TOOLS:
            sessions = chosen.setdefault(tool, set())
            if len(sessions) < SESSIONS:
                sessions.add(session_id)
    return set().union(*chosen.values())


MOST_BYTES = 16 * 1024 * 1024  # of a stored content; what is bigger is longer than any row may be
KEPT_PARTS = 256  # columns in memory, each of PROMPT_CHARACTERS at most


def build_part(column: str, data: bytes) -> Part:
    """The column of a stored prompt or list of tools.

    Empty when the content is not whole, or of no known form.
    """
    try:
        text = data.decode("utf-8-sig")
        value = text if column == SYSTEM else orjson.loads(text)
        if why := placeholders.find_nested_placeholder(value):
            if column == SYSTEM and placeholders.has_only_runtime_values(text):
                return build_system_part(text, WITH_PLACEHOLDERS)
            return build_empty_part(column, why)
        return build_system_part(text) if column == SYSTEM else build_tools_part(value)
    except (UnicodeDecodeError, orjson.JSONDecodeError, UnknownForm):
        return build_empty_part(column, placeholders.UNKNOWN_FORM)


FACTS = {SYSTEM: "systemPrompt", TOOLS: "tools"}  # of a step
KINDS = {SYSTEM_PROMPT: SYSTEM, TOOL_SCHEMAS: TOOLS}  # of an artifact
TYPES = (COMPILED, "prompt.submitted")
NONE_RECORDED = build_empty_columns(NOT_RECORDED)
# Reasons for which what was given is not known: calls of the agent tell of its tools, and stored files of its prompt.
UNKNOWN = frozenset({NOT_RECORDED, placeholders.TRUNCATED, placeholders.REDACTED, placeholders.UNKNOWN_FORM, LOST})


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
    """The prompts of one session, for its turns as they are read.

    `records` are those of each column, `stored` the bytes of contents by handle; without `db` none are known. Unknown
    system prompts are rebuilt of `files`: the agent's, and the names of those in the session's prompts.
    """

    def __init__(
        self,
        reader: "PromptReader",
        db: str,
        records: Mapping[str, list[RecordedPrompt]],
        stored: Mapping[str, int],
        *,
        is_withheld: bool = False,
        files: tuple[StoredFiles, Sequence[str]] | None = None,
    ):
        self.reader = reader
        self.db = db
        self.stored = stored
        self.is_withheld = is_withheld
        self.columns = {column: _Column(records.get(column, [])) for column in COLUMNS}
        self.files = None if is_withheld else files
        self.is_empty = not any(records.values()) and self.files is None
        self._turns: dict[int, _Turn] = defaultdict(_Turn)
        self._latest: tuple[Any, PromptColumns] = (None, NO_PROMPTS)

    def add_message(self, turn_number: int | None, at: int, run_id: str) -> None:
        """Add a message: the time and the run of its turn."""
        if turn_number is not None:
            turn = self._turns[turn_number]
            turn.begins_at = at if turn.begins_at is None else turn.begins_at
            turn.ends_at = max(turn.ends_at, at)
            if run_id:
                turn.runs.add(run_id)

    def find_prompts(self, sample: ExportSample) -> PromptColumns:
        """The prompt columns that the model had in the turn of a sample.

        They are empty for a turn whose messages were not read.
        """
        turn = self._turns.get(sample.turn_number)
        if turn is None and not self.is_empty:
            return NONE_RECORDED
        system, tools = (self.columns[column].nearest(turn) if turn else None for column in COLUMNS)
        versions = self.files[0].find_versions(self.files[1], turn.begins_at) if self.files and turn else ()
        if (system, tools, versions) != self._latest[0]:
            parts = {SYSTEM: self._build_system(system, versions), TOOLS: self._build_tools(tools)}
            self._latest = ((system, tools, versions), PromptColumns(parts))
        return self._latest[1]

    def _build_system(self, record, versions) -> Part:
        part = self._build_recorded(SYSTEM, record)
        if not versions or part.left_out not in UNKNOWN:
            return part
        rebuilt = self.files[0].build_part(versions)
        return part if rebuilt.left_out == NOT_RECORDED else replace(rebuilt, missing=part.left_out)

    def _build_tools(self, record) -> Part:
        if not self.reader.has_tools:
            return build_empty_part(TOOLS, CALLS_LEFT_OUT)
        part = self._build_recorded(TOOLS, record)
        if part.left_out not in UNKNOWN:
            return part
        inferred = self.reader.infer_tools(self.db)
        return part if inferred.left_out else replace(inferred, missing=part.left_out)

    def _build_recorded(self, column, record) -> Part:
        if record is None:
            return build_empty_part(column, NOT_RECORDED)
        if record.left_out:
            return build_empty_part(column, record.left_out)
        if self.is_withheld and column == SYSTEM:
            return build_empty_part(column, WITHHELD)
        size = self.stored.get(record.handle)
        return build_empty_part(column, LOST) if size is None else self.reader.get_part(column, record.handle, size)


@dataclass(slots=True)
class _Turn:
    """When the first and the last message of a turn were written, and in which runs its messages were."""

    begins_at: int | None = None
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

    def __init__(self, characters: int, redactor: Redactor, options: Options):
        self.characters = characters
        self.redactor = redactor
        self.include_flagged = FLAGGED in options.include
        self.has_tools = options.tool_calls != LEAVE_OUT
        self.rebuilds_system = options.rebuild_system
        self.get_files = lru_cache(1)(self._get_files)
        self.get_part = lru_cache(KEPT_PARTS)(self._read_part)
        self.infer_tools = lru_cache(1)(self._infer_tools)

    def read_sessions(self, db: str, session_ids: list[str]) -> dict[str, SessionPrompts]:
        """The prompts of each of these sessions of one agent; without `db` none are known."""
        records: dict[str, dict[str, list[RecordedPrompt]]] = defaultdict(lambda: defaultdict(list))
        stored: dict[str, dict[str, int]] = defaultdict(dict)
        of_withheld: set[str] = set()
        files: dict[str, tuple[StoredFiles, Sequence[str]]] = {}
        if db:
            for session_id, column, record in _read_steps(db, session_ids):
                records[session_id][column].append(record)
            for session_id, column, handle, size, bundled in _read_artifacts(db, session_ids):
                stored[session_id][handle] = size
                records[session_id][column] += bundled
            sessions = Session.objects.using(db).filter(id__in=session_ids)
            of_withheld.update(sessions.filter(withheld_count__gt=0).values_list("id", flat=True))
            if self.rebuilds_system:
                stored_files = self.get_files(db)
                for session in sessions.select_related("prompt_report"):
                    files[session.id] = stored_files, stored_files.list_names(session)
        for columns in records.values():
            for column_records in columns.values():
                column_records.sort(key=lambda record: (record.at, not record.left_out))
        return {
            name: SessionPrompts(
                self, db, records[name], stored[name], is_withheld=name in of_withheld, files=files.get(name)
            )
            for name in session_ids
        }

    def _get_files(self, db):
        agent = Agent.objects.get(agent_id=db.removeprefix("agent_"))
        return StoredFiles(agent, self.redactor, self.characters, include_flagged=self.include_flagged)

    def _read_part(self, column, handle, size):
        """The column that a stored content becomes; empty when the content is not fit for it."""
        if size > MOST_BYTES:
            return build_empty_part(column, TOO_LONG)
        try:
            part = build_part(column, blobs.read_whole(layout.get_root(), handles.parse(handle), expected=size))
        except (NoSuchArtifact, DamagedArtifact, handles.NotAHandle):
            return build_empty_part(column, LOST)
        return build_empty_part(column, TOO_LONG) if len(part.text) > self.characters else self._redact(column, part)

    def _infer_tools(self, db):
        """The tools of an agent as its calls tell, the same for all of its sessions."""
        return self._redact(TOOLS, build_inferred_part(db, self.characters))

    def _redact(self, column, part):
        """The column with markers; empty with an open key or password."""
        text = self.redactor.redact(part.text)
        if not self.include_flagged and has_open(text.encode(errors="surrogatepass")):
            return build_empty_part(column, FLAGGED)
        return replace(part, text=text)


def build_prompt_reader(options: Options, redactor: Redactor) -> PromptReader | None:
    """The reader of an export's prompts, redacted; None when its rows have none."""
    if not options.shape.has_history:
        return None
    return PromptReader(PROMPT_CHARACTERS, redactor, options)


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


def _read_artifacts(db, session_ids) -> Iterable[tuple[str, str, str, int, list[RecordedPrompt]]]:
    """The contents that were stored for these sessions.

    Contents of a bundle are records of their own.
    """
    rows = Artifact.objects.using(db).filter(session_id__in=session_ids, record_id=None, kind__in=KINDS)
    for session_id, handle, kind, size, meta_json, at in rows.values_list(
        "session_id", "handle", "kind", "bytes", "meta_json", "created_at"
    ):
        meta = decode(meta_json)
        bundled = [RecordedPrompt(at, str(meta.get("run", "")), handle)] if "bundle" in meta else []
        yield session_id, KINDS[kind], handle, size, bundled


class PromptCounts:
    """Counts how many rows of an export have each prompt column, and why others have not."""

    def __init__(self):
        self.filled = Counter(dict.fromkeys(COLUMNS, 0))
        self.left_out: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}
        self.undescribed = 0
        self.calling = 0  # rows that call tools
        self.with_placeholders = 0
        self.inferred: Counter[str] = Counter()  # rows with inferred tools, by why none are recorded
        self.rebuilt: Counter[str] = Counter()  # rows with rebuilt system prompts, likewise

    def count(self, outcome: SampleOutcome) -> None:
        """Count a row that was written."""
        for column, part in outcome.given.parts.items():
            if part.left_out:
                self.left_out[column][part.left_out] += 1
            else:
                self.filled[column] += 1
                self.with_placeholders += part.source == WITH_PLACEHOLDERS
                self.inferred.update([part.missing] if part.source == INFERRED else [])
                self.rebuilt.update([part.missing] if part.source == REBUILT else [])
        self.calling += outcome.has_calls
        self.undescribed += outcome.is_undescribed

    def as_json(self) -> dict[str, Any]:
        """The counts as the manifest has them.

        Rows with each column, rows without it by reason, and rows that call tools they do not describe. Rows with a
        rebuilt system prompt are in neither: they are counted by the reason why it is not known.
        """
        columns = {
            column: {"rows": self.filled[column], "left_out": dict(sorted(self.left_out[column].items()))}
            for column in COLUMNS
        }
        columns[SYSTEM][WITH_PLACEHOLDERS] = self.with_placeholders
        columns[TOOLS][INFERRED] = dict(sorted(self.inferred.items()))
        if self.rebuilt:
            columns[SYSTEM]["rows"] -= self.rebuilt.total()
            columns[SYSTEM][REBUILT] = dict(sorted(self.rebuilt.items()))
        return {**columns, "rows_with_undescribed_calls": self.undescribed}
