"""Shapes a transcript for reading: sections by turn, results under their calls, cut texts.

Pure functions over rows as `transcript_page.COLUMNS` names them, plus `record` and `record_id`: no queries here.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import orjson

from openclaw_web.sqlite.json_columns import decode

from ..collectors import projections
from ..collectors.records import Facts, ToolCall, read_facts, read_file_lists
from ..transcripts import origins, trimming

MAX_INDENTED = 32_000  # bytes of a JSON value that is shown on several lines
WORDS = 8_000  # characters of a message
LONG = 600  # characters from which on a person's words are no longer strong
SHORT = 2_000  # characters of a tool's output, the arguments of a call, raw JSON
CALLS = 20  # of one record
FILES = 100  # names in one list of a compaction
MODEL_PROMPT = f"message.{projections.OWN}.{projections.PROJECTION}.text"
HIDDEN_KINDS = frozenset({"custom"})
NO_OUTPUTS: dict[int, list[Any]] = {}
ROLES = {
    "user": "user",
    "assistant": "agent",
    "tool_result": "tool",
    "compaction": "compaction",
    "branch_summary": "compaction",
    "withheld": "withheld",
    "reset": "reset",
}
# The argument that says most about a call, first match first.
MAIN_ARGUMENTS = (
    *("command", "cmd", "path", "file_path", "filePath", "query", "url", "targetUrl", "pattern", "task", "message"),
    *("text", "prompt", "action", "name"),
)
SENDER_NAMES = ("senderName", "name", "sender", "senderUsername", "username", "sender_id", "senderId")


@dataclass(slots=True)
class Preview:
    """The beginning of a text; `length` counts the characters of the whole."""

    text: str
    length: int

    @property
    def is_cut(self):
        """Whether the whole is longer than `text`."""
        return len(self.text) < self.length


@dataclass(slots=True)
class Result:
    """The result of a tool call."""

    record_id: str
    url_id: str  # for addresses
    created_at: int
    is_failed: bool
    text: Preview
    images: int
    exit_code: int | None
    duration_ms: int | None
    diff: Preview | None
    call_id: str = ""
    outputs: list[Any] = field(default_factory=list)  # that are artifacts (ledger.outputs.stashed_outputs.Output)


@dataclass(slots=True)
class Call:
    """One call of a tool, with its result when that is on the page.

    `number` is its place in its record. `is_asked` is false for a result that stands alone, because the page does not
    hold its call.
    """

    url_id: str  # of the record that asked
    number: int
    name: str
    main: str = ""
    arguments: list[tuple[str, Preview]] = field(default_factory=list)
    is_cut: bool = False
    result: Result | None = None
    is_asked: bool = True
    is_open: bool = False


@dataclass(slots=True)
class Entry:
    """One record as the page shows it; values that it lacks are empty or None."""

    record_id: str
    url_id: str  # for addresses
    seq: int
    kind: str
    role: str
    created_at: int
    is_active: bool
    is_failed: bool
    text: Preview
    copy: str = ""  # the synthetic model that wrote it
    thinking: Preview | None = None
    model_prompt: Preview | None = None  # what the model saw of a person's words
    calls: list[Call] = field(default_factory=list)
    more_calls: int = 0
    images: int = 0
    sender: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    tokens: int | None = None
    cost: float | None = None
    repeat_of: str | None = None  # the session that has it first
    is_private: bool = False  # words that nobody received
    is_marked: bool = True  # the entry shows the repeated session, because its turn does not
    error: str | None = None
    stop_reason: str | None = None
    read_files: list[str] = field(default_factory=list)
    modified_files: list[str] = field(default_factory=list)
    tokens_before: int | None = None
    raw: Preview | None = None
    branches: list[Any] = field(default_factory=list)  # others that go on from here (ledger.transcripts.forks.Branch)

    @property
    def is_message(self):
        """Whether a person or an agent speaks: almost all records."""
        return self.kind in ("user", "assistant")

    @property
    def has_head(self):
        """Whether it shows its speaker: calls without words do not."""
        return self.kind != "assistant" or bool(self.text.text or self.copy or self.error or not self.calls)

    @property
    def is_empty(self):
        """An answer without anything in it."""
        return self.kind == "assistant" and not (self.text.text or self.calls or self.error or self.images)

    @property
    def is_long(self):
        """Whether its text is too long for strong letters."""
        return self.text.length > LONG

    @property
    def has_rest(self):
        """Whether there is something below its words; most records have none of it."""
        return bool(self.error or self.images or self.more_calls or self.text.is_cut or self.is_empty)


@dataclass(slots=True)
class Section:
    """Consecutive records of one turn, or of none."""

    number: int | None
    turn: dict[str, Any] | None
    is_continued: bool
    entries: list[Entry] = field(default_factory=list)
    hidden: int = 0  # count of its records that are not shown

    @property
    def repeat_of(self):
        """The session that all of it is from; empty when part of it is its own."""
        sources = {entry.repeat_of for entry in self.entries}
        return (sources.pop() if len(sources) == 1 else None) or ""

    @property
    def private(self):
        """How the words begin that the agent said and nobody received; empty without such words."""
        return decode(self.turn.get("agent_metadata")).get("private", "") if self.turn else ""

    @property
    def sent(self):
        """The answer that the agent sent with a tool; empty where its last words are the answer."""
        is_sent = self.turn and not self.is_continued and decode(self.turn.get("agent_metadata")).get("sent")
        return build_preview(self.turn["agent_message_content"], WORDS) if is_sent else None

    @property
    def has_started(self):
        """Whether a call of it may have started or sent something."""
        return any(call.name in origins.STARTERS for entry in self.entries for call in entry.calls)

    @property
    def html_id(self):
        """Its id in HTML.

        The part of a turn that a later page begins with has another id than the turn.
        """
        begin = f"-{self.entries[0].seq}" if self.is_continued and self.entries else ""
        return f"t-{self.number}{begin}"

    @property
    def may_be_sample(self):
        """Whether it is the beginning of an unrepeated turn on the active branch."""
        return bool(self.turn and self.turn["is_active"] and not self.turn["repeat_of"] and not self.is_continued)


def build_sections(rows, turns, *, show_all=False, keep=None, outputs=NO_OUTPUTS) -> list[Section]:
    """Rows in order as sections.

    `turns` maps a turn's number to its values; `keep` is the id of a record to show in any case. `outputs` are those of
    the rows that are artifacts (ledger.outputs.stashed_outputs.read_outputs).
    """
    result_sections: list[Section] = []
    calls: dict[str, Call] = {}
    for row in rows:
        if not result_sections or result_sections[-1].number != row["turn_number"]:
            turn = turns.get(row["turn_number"])
            result_sections.append(Section(row["turn_number"], turn, bool(turn) and row["seq"] > turn["first_seq"]))
        section = result_sections[-1]
        if row["kind"] in HIDDEN_KINDS and not show_all and row["record_id"] != keep:
            section.hidden += 1
            continue
        record_facts = read_facts(row["record"])
        missing, stashed = _count_missing(row["trim_json"]), outputs.get(row["seq"], ())
        if row["kind"] == "tool_result":
            missing["text"] += sum(output.missing for output in stashed)
            exit_code, duration = record_facts.details.get("exitCode"), record_facts.details.get("durationMs")
            diff = record_facts.details.get("diff")
            result = Result(
                record_id=row["record_id"],
                url_id=quote(row["record_id"], safe=""),
                created_at=row["created_at"],
                is_failed=bool(row["is_failed"]),
                text=build_preview(record_facts.text, SHORT, missing["text"]),
                images=record_facts.images,
                exit_code=exit_code if isinstance(exit_code, int) else None,
                duration_ms=round(duration) if isinstance(duration, int | float) and 0 <= duration < 1e15 else None,
                diff=build_preview(diff, SHORT) if isinstance(diff, str) and diff else None,
                call_id=record_facts.tool_call_id or "",
                outputs=list(stashed),
            )
            call = calls.get(record_facts.tool_call_id or "")
            if call is not None and call.result is None:
                call.result, call.is_open = result, result.record_id == keep
                continue
            call = Call("", 0, record_facts.tool_name or "–", result=result, is_asked=False, is_open=True)
            section.entries.append(_build_entry(row, record_facts, missing, calls=[call]))
            continue
        entry = _build_entry(row, record_facts, missing)
        if section.turn and entry.model == section.turn["model"]:
            entry.model = None  # the turn's own line says it
        if section.private and entry.kind == "assistant":
            entry.is_private = record_facts.text.startswith(section.private)
        calls.update(
            (tool_call.id, call)
            for tool_call, call in zip(record_facts.calls, entry.calls, strict=False)
            if tool_call.id
        )
        section.entries.append(entry)
    for section in result_sections:
        for entry in section.entries:
            entry.is_marked = not (section.turn and section.repeat_of)
    return result_sections


def estimate_length(row) -> int:
    """The estimated number of characters that `build_sections` shows of a row."""
    cap = SHORT * 2 if row["kind"] == "tool_result" else WORDS * 3
    return min(len(row["event_json"]), cap)


def build_preview(text: str, limit: int, missing: int = 0) -> Preview:
    """The first `limit` characters of a text that is `missing` characters longer than `text`."""
    return Preview(text[:limit], len(text) + missing)


def format_json(value: Any) -> str:
    """A JSON value on several lines; a big or deep one on one line.

    Indenting would multiply the size of such a value.
    """
    try:
        plain = orjson.dumps(value)
        is_small = len(plain) <= MAX_INDENTED and plain.count(b"[") + plain.count(b"{") <= MAX_INDENTED // 16
        return (orjson.dumps(value, option=orjson.OPT_INDENT_2) if is_small else plain).decode()
    except TypeError:  # arguments in a text may be nested too deeply to be written as JSON
        return "…"


def _build_entry(row, record_facts: Facts, missing, calls=None):
    entry = Entry(
        record_id=row["record_id"],
        url_id=quote(row["record_id"], safe=""),
        seq=row["seq"],
        kind=row["kind"],
        role=ROLES.get(row["kind"], "system"),
        created_at=row["created_at"],
        is_active=bool(row["is_active"]),
        is_failed=bool(row["is_failed"]),
        text=build_preview(record_facts.text, WORDS, missing["text"]),
        images=record_facts.images,
        calls=calls or [],
        repeat_of=row["repeat_of"],
        tokens=row["total_tokens"],
        cost=row["cost_usd"],
    )
    if shape := SHAPES.get(row["kind"]):
        shape(entry, row, record_facts, missing)
    elif not record_facts.text and calls is None:
        entry.raw = _preview_raw(row)
    return entry


def _shape_user(entry, row, record_facts, missing):
    name = next((str(record_facts.sender[key]) for key in SENDER_NAMES if record_facts.sender.get(key)), "")
    entry.sender = {
        "name": name[:80],
        "injected": record_facts.sender.get("injected", ""),
        "envelope": record_facts.sender.get("envelope", ""),
        "system_lines": str(record_facts.sender.get("system_lines", "")),
    }
    if record_facts.model_prompt:
        entry.model_prompt = build_preview(record_facts.model_prompt, WORDS // 2, missing["model_prompt"])


def _shape_assistant(entry, row, record_facts, missing):
    entry.copy = (record_facts.model or "") if row["is_synthetic"] else ""
    entry.model = row["model"]
    entry.error, entry.stop_reason = record_facts.error and record_facts.error[:SHORT], record_facts.stop_reason
    if record_facts.thinking:
        entry.thinking = build_preview(record_facts.thinking, WORDS // 2, missing["thinking"])
    entry.calls = [_build_call(entry.url_id, number, call) for number, call in enumerate(record_facts.calls[:CALLS])]
    entry.more_calls = len(record_facts.calls) - len(entry.calls)


def _shape_compaction(entry, row, record_facts, missing):
    read, modified = read_file_lists(record_facts.text, record_facts.details)
    entry.read_files, entry.modified_files = read[:FILES], modified[:FILES]
    before = row["record"].get("tokensBefore")
    entry.tokens_before = before if isinstance(before, int) else None


def _shape_model(entry, row, record_facts, missing):
    name = "/".join(part for part in (record_facts.provider, record_facts.model) if part)
    entry.text = build_preview(name, SHORT)


def _shape_header(entry, row, record_facts, missing):
    cwd = row["record"].get("cwd")
    entry.text = build_preview(cwd if isinstance(cwd, str) else "", SHORT)
    if row["seq"]:
        entry.role = ROLES["reset"]


def _shape_words(entry, row, record_facts, missing):
    """Leave the entry as it is: its text is all there is."""


def _shape_raw(entry, row, record_facts, missing):
    entry.raw = _preview_raw(row)


SHAPES = {
    "user": _shape_user,
    "assistant": _shape_assistant,
    "compaction": _shape_compaction,
    "branch_summary": _shape_compaction,
    "model_change": _shape_model,
    "session": _shape_header,
    "custom": _shape_raw,
    "unknown": _shape_raw,
    "message": _shape_raw,
    "withheld": _shape_words,
    "reset": _shape_words,
    "leaf": _shape_words,
    "label": _shape_words,
    "usage": _shape_words,
    "session_info": _shape_words,
    "thinking_level_change": _shape_words,
}


def _build_call(url_id, number, call: ToolCall):
    previews: list[tuple[str, Preview]] = []
    budget = SHORT
    for name, value in call.arguments.items():
        if budget <= 0:
            break
        part = build_preview(value if isinstance(value, str) else format_json(value), budget)
        previews.append((name[:80], part))
        budget -= len(part.text) + 20  # twenty empty arguments weigh something too
    is_cut = len(previews) < len(call.arguments) or any(part.is_cut for _, part in previews)
    return Call(url_id, number, call.name[:80] or "–", find_main_argument(call.arguments), previews, is_cut)


def find_main_argument(arguments: dict[str, Any]) -> str:
    """The main argument of a call (its command), or its first text, on one line."""
    texts = (arguments[name] for name in MAIN_ARGUMENTS if isinstance(arguments.get(name), str))
    text = next(texts, None) or next((value for value in arguments.values() if isinstance(value, str)), "")
    return " ".join(text[:400].split())[:200]


def _preview_raw(row):
    return build_preview(format_json(row["record"]), SHORT)


def _count_missing(trim_json):
    """The number of characters by part that are not in `event_json`, only compressed."""
    missing: Counter[str] = Counter()
    for path, count in trimming.parse_cuts(trim_json):
        missing[_find_part(path)] += count
    return missing


def _find_part(path):
    if path.endswith(".thinking"):
        return "thinking"
    if path == MODEL_PROMPT:
        return "model_prompt"
    is_text = path in ("summary", "message.content") or (path.startswith("message.content.") and path.endswith(".text"))
    return "text" if is_text else "other"
