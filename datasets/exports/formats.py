"""Formats: each is a function of one row, with facts about its files.

A row is the same for all of them: a conversation or three texts, what the model was given, a pair of answers or a
label, and the sample. Beside the columns that trainers read, columns of texts say where a row comes from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from ..sample_texts import ExportSample, parse_loose_json
from .changes import NO_CHANGES, Changes
from .dialects import (
    AGENT,
    MESSAGES,
    OPENAI,
    OPENAI_PROMPT,
    PROMPT,
    REFLECTION,
    SHAREGPT,
    SHAREGPT_PROMPT,
    SYSTEM,
    Dialect,
    build_valid_name,
)
from .exchanges import Conversation, Exchange
from .prompt_columns import COLUMNS as GIVEN
from .prompt_columns import NO_PROMPTS, PromptColumns

PLACE_COLUMNS = ("sample_id", "agent_id", "session_id", "turn_number")
JUDGEMENT_COLUMNS = ("quality_score", "memory_gate_decision", "candidate_fact")
GIVEN_COLUMNS = ("system_source", "tools_source")
# Last in every row: the control tokens in its texts, which a tokenizer may read as such.
ABOUT = (*PLACE_COLUMNS, *JUDGEMENT_COLUMNS, *GIVEN_COLUMNS, "control_tokens")
SPEAKERS = {"user": "User", "agent": "Agent"}
FEWEST_ROWS, MOST_BYTES = 10, 512_000_000  # of a training file for OpenAI, and of one upload
FEW_ROWS, LARGE_FILE = "fewer_than_10_rows", "larger_than_512_mb"


@dataclass(slots=True)
class CanonicalRow:
    """The row that every format is made of.

    `exchanges` are the conversation, without the answer where that was judged: then `chosen` and `rejected` are
    answers, or `label` says whether `chosen` is a good one. `is_parallel`: a message may have several calls.
    `instruction`, `input` and `output` are the same as texts.
    """

    sample: ExportSample
    exchanges: Sequence[Exchange] = ()
    given: PromptColumns = NO_PROMPTS
    chosen: str = ""
    rejected: str = ""
    label: bool = True
    is_parallel: bool = True
    instruction: str = ""
    input: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the function that makes a row, and facts about its rows.

    `columns` are those of its rows; `lists` those that are no texts, the first with the conversation. `dialect`: how
    conversations are written; None where rows have none. `answers`: columns of judged answers. `is_stored`: rows are
    samples as they are stored, to which no rule of trainers applies. `has_place`: rows say where they come from.
    """

    build: Callable[[CanonicalRow], dict[str, Any]]
    columns: tuple[str, ...]
    lists: tuple[str, ...] = ()
    dialect: Dialect | None = None
    answers: tuple[str, ...] = ()
    is_stored: bool = False
    has_place: bool = True

    @property
    def is_paired(self) -> bool:
        """Whether a row holds two answers to one question."""
        return len(self.answers) == 2


def build_place(sample: ExportSample) -> dict[str, str]:
    """The columns of the sample's place: its id, agent, session and turn."""
    number = "" if sample.turn_number is None else str(sample.turn_number)
    return dict(zip(PLACE_COLUMNS, (sample.sample_id, sample.agent_id, sample.session_id, number), strict=True))


def build_judgement(sample: ExportSample) -> dict[str, str]:
    """The columns of judgments of a sample, with empty texts where nothing is known."""
    score = "" if sample.quality_score is None else str(sample.quality_score)
    decision, fact = (sample.gate.decision, sample.gate.fact) if sample.gate else ("", "")
    return dict(zip(JUDGEMENT_COLUMNS, (score, decision, fact), strict=True))


def build_about(sample: ExportSample, given: PromptColumns) -> dict[str, str]:
    """The columns that say where a row and what it was given come from."""
    sources = {f"{column}_source": given.get_source(column) for column in GIVEN}
    return {**build_place(sample), **build_judgement(sample), **sources}


def _build_alpaca(row):
    """No `history` column: a trainer learns the answers in it as well, approved or not."""
    return {"instruction": row.instruction, "input": row.input, "output": row.output, **build_place(row.sample)}


def _build_sharegpt(row):
    given = {column: row.given.text(column) for column in GIVEN}
    return {"conversations": Conversation(list(row.exchanges)), **given, **build_about(row.sample, row.given)}


def _build_openai(row):
    """OpenAI may refuse keys that it does not know, so a line of another file says where a row comes from."""
    tools = read_tools(row.given)
    return {"messages": Conversation(_begin(row, OPENAI))} | ({"tools": tools} if tools else {})


def _build_messages(row):
    conversation = Conversation(_begin(row, MESSAGES))
    return {"messages": conversation, "tools": row.given.text("tools"), **build_about(row.sample, row.given)}


def _build_preference(row):
    return {
        "prompt": Conversation(_begin(row, PROMPT)),
        "chosen": [PROMPT.build(AGENT, row.chosen)],
        "rejected": [PROMPT.build(AGENT, row.rejected)],
        "tools": row.given.text("tools"),
        **build_about(row.sample, row.given),
    }


def _build_openai_preference(row):
    messages = Conversation(_begin(row, OPENAI_PROMPT)).messages
    return {
        "input": {"messages": messages, "tools": read_tools(row.given), "parallel_tool_calls": row.is_parallel},
        "preferred_output": [OPENAI_PROMPT.build(AGENT, row.chosen)],
        "non_preferred_output": [OPENAI_PROMPT.build(AGENT, row.rejected)],
    }


def _build_llamafactory_preference(row):
    return {
        "conversations": Conversation(list(row.exchanges)),
        "chosen": SHAREGPT_PROMPT.build(AGENT, row.chosen),
        "rejected": SHAREGPT_PROMPT.build(AGENT, row.rejected),
        **{column: row.given.text(column) for column in GIVEN},
        **build_about(row.sample, row.given),
    }


def _build_kto(row):
    return {
        "prompt": Conversation(_begin(row, PROMPT)),
        "completion": [PROMPT.build(AGENT, row.chosen)],
        "label": row.label,
        "tools": row.given.text("tools"),
        **build_about(row.sample, row.given),
    }


RAW_COLUMNS = (
    *("id", "sample_type", "agent_id", "session_id", "turn_id", "turn_number", "decision_id", "audit_id"),
    *("content", "output", "quality_score", "quality_factors"),
    *("annotation_status", "annotated_at", "annotation_notes", "reject_reason", "label_id"),
    *("gate_label", "gate_corrected_output", "guardian_label", "guardian_corrected_output"),
    *("privacy_checked", "contains_pii", "pii_redacted_content"),
    *("prompted_by", "reply_stop", "turn_traits", "repeat_of", "collection_strategy", "created_at"),
)
JSON_COLUMNS = frozenset({"content", "quality_factors", "gate_corrected_output", "guardian_corrected_output"})
FLAGS = frozenset({"privacy_checked", "contains_pii"})
SPEC_NAMES = {name: name[0] + name.title().replace("_", "")[1:] for name in RAW_COLUMNS}


def _build_raw(row):
    """The Reflection spec's `DatasetSampleRecord`, and our columns; who judged a sample is not among them.

    The content that a correction gives to a file is left out where it is that of another file, or nothing new: whoever
    makes pairs of these rows would teach it.
    """
    stored = row.sample.stored or {}
    values = {spec_name: _read_column(name, stored.get(name)) for name, spec_name in SPEC_NAMES.items()}
    if row.sample.misfit:
        output = {name: text for name, text in values["guardianCorrectedOutput"].items() if name != "content"}
        values["guardianCorrectedOutput"] = output | {"contentLeftOut": row.sample.misfit}
    return values


def _read_column(name, value):
    """JSON as a value; what is no JSON stays a text."""
    if value is None:
        return None
    if name in FLAGS:
        return bool(value)
    try:
        return parse_loose_json(value) if name in JSON_COLUMNS else value
    except ValueError:
        return value


WEIGHT, WEIGHTED = "weight", ("raw", "csv", "parquet")  # a last column by choice, and the formats that can have it
STORED_COLUMNS = (
    *("sample_type", "created_at", "annotation_status", "annotated_at", "annotation_notes"),
    *("prompted_by", "reply_stop", "collection_strategy"),
)
TABLE_COLUMNS = (
    *PLACE_COLUMNS,
    *STORED_COLUMNS,
    *("context", "user_message", "agent_reply", "edited_reply"),
    *("quality_score", "memory_gate_decision", "candidate_fact", "memory_gate_reason"),
    *("gate_label", "guardian_label"),
)


def _build_csv(row):
    """A flat table for spreadsheets; a cell is empty where nothing is known."""
    sample, stored = row.sample, row.sample.stored or {}
    cells = {
        **build_place(sample),
        **{name: stored.get(name) for name in (*STORED_COLUMNS, "gate_label", "guardian_label")},
        "context": "\n".join(format_line(*pair) for pair in sample.context),
        "user_message": sample.user_text,
        "agent_reply": sample.agent_reply,
        "edited_reply": sample.edited_reply,
        **build_judgement(sample),
        "memory_gate_reason": sample.gate.reason if sample.gate else None,
    }
    return {name: cells[name] for name in TABLE_COLUMNS}


def format_line(role: str, text: str) -> str:
    """A message of a conversation as a line of a text."""
    return f"{SPEAKERS[role]}: {text}"


def _begin(row, dialect):
    """The exchanges after their system prompt, where that is known, marked as they are."""
    prompt = row.given.text("system")
    if not prompt:
        return list(row.exchanges)
    is_marked = any(dialect.mark in message for message in row.exchanges[-1].messages)
    return [_build_system_exchange(prompt, dialect, is_marked=is_marked), *row.exchanges]


@lru_cache(maxsize=8)
def _build_system_exchange(text, dialect, *, is_marked):
    """A system prompt alone: no conversation by itself, but it breaks no rule before other exchanges."""
    message = {"role": SYSTEM, "content": text}
    exchange = Exchange([message], NO_CHANGES, dialect, train=False if is_marked else None)
    exchange.broken = []
    return exchange


def read_tools(given: PromptColumns) -> list[dict[str, Any]]:
    """The tools of a row, with names that OpenAI takes."""
    return _read_tools(given.text("tools"))[0]


@lru_cache(maxsize=16)  # rows of a session share their list
def _read_tools(text: str) -> tuple[list[dict[str, Any]], frozenset[str], Changes]:
    """Tools with names that OpenAI takes, these names, and the changes. Of equal names, the first one stays."""
    named: dict[str, Any] = {}
    done: set[str] = set()
    for tool in orjson.loads(text):
        name = build_valid_name(tool["function"]["name"], done)
        named.setdefault(name, tool | {"function": tool["function"] | {"name": name}})
    return list(named.values()), frozenset(named), frozenset(done)


def find_described_tools(kind: str, given: PromptColumns) -> tuple[frozenset[str], Changes]:
    """The names of the tools in a row, and the changes of its prompt columns."""
    if FORMATS[kind].has_place:
        return given.names, given.changes
    _tools, names, done = _read_tools(given.text("tools"))
    return names, given.changes | done


def find_notes(training_rows: int, largest: int) -> list[str]:
    """The requirements of OpenAI that files do not meet. `largest`: the bytes of the largest file."""
    checks = ((FEW_ROWS, training_rows < FEWEST_ROWS), (LARGE_FILE, largest > MOST_BYTES))
    return [name for name, is_so in checks if is_so]


PAIR, CONVERSATION, CHAT = ("chosen", "rejected"), ("conversations", "system", "tools"), ("messages", "tools")
OPENAI_PAIR = ("preferred_output", "non_preferred_output")
OPENAI_INPUT = ("input", *OPENAI_PAIR)
FORMATS = {
    "alpaca": Format(_build_alpaca, ("instruction", "input", "output", *PLACE_COLUMNS, "control_tokens")),
    "sharegpt": Format(_build_sharegpt, (*CONVERSATION, *ABOUT), ("conversations",), SHAREGPT),
    "sharegpt_reflection": Format(_build_sharegpt, (*CONVERSATION, *ABOUT), ("conversations",), REFLECTION),
    "openai": Format(_build_openai, ("messages",), CHAT, OPENAI, has_place=False),
    "messages": Format(_build_messages, (*CHAT, *ABOUT), ("messages",), MESSAGES),
    "parquet": Format(_build_messages, (*CHAT, *ABOUT), ("messages",), MESSAGES),
    "preference": Format(_build_preference, ("prompt", *PAIR, "tools", *ABOUT), ("prompt", *PAIR), PROMPT, PAIR),
    "openai_preference": Format(
        _build_openai_preference, OPENAI_INPUT, OPENAI_INPUT, OPENAI_PROMPT, OPENAI_PAIR, has_place=False
    ),
    "llamafactory_preference": Format(
        _build_llamafactory_preference,
        *(("conversations", *PAIR, "system", "tools", *ABOUT), ("conversations", *PAIR), SHAREGPT_PROMPT, PAIR),
    ),
    "kto": Format(
        _build_kto,
        ("prompt", "completion", "label", "tools", *ABOUT),
        *(("prompt", "completion", "label"), PROMPT, ("completion",)),
    ),
    "raw": Format(_build_raw, RAW_COLUMNS, is_stored=True),
    "csv": Format(_build_csv, TABLE_COLUMNS, is_stored=True),
}
COLUMNS = {name: facts.columns for name, facts in FORMATS.items() if not facts.is_stored}
