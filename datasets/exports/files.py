"""Files of an export: rows as lines or Parquet, with numbered tokens in place of markers, names and checksums."""

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from openclaw_web import spreadsheets

from ..json_texts import clean_value, dump_json, encode_value
from ..markers import TokenNumbers, has_marker
from .changes import CHARACTERS_REPLACED, FORMULAS_MARKED, LONG_CELLS, Changes
from .exchanges import EIGHTHS, Conversation, estimate_weight
from .formats import GIVEN_COLUMNS, JUDGEMENT_COLUMNS, PLACE_COLUMNS, WEIGHT
from .prompt_columns import EMPTY

Row = dict[str, Any]


def encode_line(row: Row, changes: Changes, numbers: TokenNumbers | None = None) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it reads back, and its changes.

    `numbers`: those of a line about the same row, which has the same tokens. A conversation that is read back has
    markers.
    """
    numbers = TokenNumbers() if numbers is None else numbers
    (column, conversation), *others = row.items()
    if not isinstance(conversation, Conversation):
        data, row, is_cleaned = encode_value(row)
        if has_marker(data):
            data = numbers.encode(data)
            row = orjson.loads(data)
        changes |= numbers.changes
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    columns = dict(others)
    has_prompts = EMPTY.keys() <= columns.keys()
    is_given = has_prompts and any(columns[name] != empty_value for name, empty_value in EMPTY.items())
    rest, read, is_cleaned = _encode_with_prompts(columns) if is_given else encode_value(columns)
    end = b"," + rest[1:] if others else rest[1:]
    start = b"".join([b'{"', column.encode(), b'":[', conversation.json, b"]"])
    start, numbered_end = numbers.encode_parts([start, end])
    if numbered_end != end:
        read = orjson.loads(b"{" + numbered_end[1:])
    line = start + numbered_end + b"\n"
    changes = changes | conversation.changes | numbers.changes
    return line, {column: conversation, **read}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes


def encode_csv(row: Row, changes: Changes, numbers: TokenNumbers | None = None) -> tuple[bytes, Row, Changes]:
    """A row as lines of CSV, the row as it reads back, and its changes."""
    numbers = TokenNumbers() if numbers is None else numbers
    cleaned = clean_value(row)
    cells = numbers.encode_cells(cleaned)
    read = {name: spreadsheets.format_cell(value) for name, value in cells.items()}
    is_long = any(map(spreadsheets.is_long_cell, cells.values()))
    checks = ((CHARACTERS_REPLACED, cleaned != row), (FORMULAS_MARKED, read != cells), (LONG_CELLS, is_long))
    done = {name for name, is_so in checks if is_so}
    return spreadsheets.format_lines([cells.values()]), read, changes | done | numbers.changes


def build_head(kind: str, columns: tuple[str, ...]) -> bytes:
    """The bytes that stand before a file's first row."""
    return spreadsheets.MARK + spreadsheets.format_lines([columns]) if kind == "csv" else b""


def _encode_with_prompts(others):
    """The other columns of a row with a system prompt or tools, as JSON.

    Returns the same values as json_texts.encode_value.
    """
    shared = {name: _encode_shared(others[name]) for name in EMPTY}
    data, read, is_cleaned = encode_value(
        {**others, **{name: orjson.Fragment(encoded[0]) for name, encoded in shared.items()}}
    )
    read |= {name: text for name, (_, text, _) in shared.items()}
    return data, read, is_cleaned or any(is_text_cleaned for _, _, is_text_cleaned in shared.values())


@lru_cache(maxsize=8)
def _encode_shared(text: str) -> tuple[bytes, str, bool]:
    """Encode a text that the rows of a session share; the result is cached.

    The text may be longer than all the rest of the rows.
    """
    return encode_value(text)


ABOUT = frozenset((*PLACE_COLUMNS, *JUDGEMENT_COLUMNS, *GIVEN_COLUMNS, "control_tokens", "label", WEIGHT))
NO_LIST = "[]"
ABOVE = (2_048, 4_096, 8_192)  # tokens: usual lengths that training tools cut rows to


class Lengths:
    """Counts how many rows of an export have which length.

    Lengths are counted in ranges between powers of two, by their number of bits.
    """

    def __init__(self) -> None:
        self.characters: Counter[int] = Counter()
        self.tokens: Counter[int] = Counter()
        self.above = dict.fromkeys(ABOVE, 0)
        self.longest = 0
        self.all_tokens = 0

    def add_row(self, characters: int, weight: int) -> None:
        """Count a row of this many characters and eighths of tokens."""
        tokens = weight // EIGHTHS
        self.characters[characters.bit_length()] += 1
        self.tokens[tokens.bit_length()] += 1
        self.all_tokens += tokens
        self.longest = max(self.longest, tokens)
        for limit in ABOVE:
            if tokens > limit:
                self.above[limit] += 1

    def as_json(self) -> dict[str, Any]:
        """The counts as the manifest has them.

        Every range is its first length, the first length beyond it, and its rows.
        """
        return {
            "characters": _list_ranges(self.characters),
            "tokens": _list_ranges(self.tokens),
            "tokens_above": {str(limit): rows for limit, rows in self.above.items()},
            "tokens_longest": self.longest,
            "tokens_all": self.all_tokens,
        }


def _list_ranges(counts):
    if not counts:
        return []
    return [[1 << n - 1 if n else 0, 1 << n, counts[n]] for n in range(min(counts), max(counts) + 1)]


def measure_row(row: dict[str, Any]) -> tuple[int, int]:
    """Measure a row in characters and in eighths of tokens.

    The texts that the row teaches and those before them count, but not the columns that say where it comes from.
    """
    characters = weight = 0
    for name, value in row.items():
        if isinstance(value, Conversation):
            more = value.lengths
            characters += more[0]
            weight += more[1]
        elif name not in ABOUT and value != NO_LIST:
            text = value if isinstance(value, str) else dump_json(value)
            characters += len(text)
            weight += estimate_weight(text)
    return characters, weight


PIECE = 10 * 1024 * 1024


# Texts that pyarrow's JSON reader takes for a timestamp; wider than its own rule where in doubt.
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII)


LONGEST_DATE = 35


class DateColumns:
    """Finds the columns of a file that a loader would take for dates.

    HF `datasets` reads a file in pieces of 10 MiB and guesses the type of each column from its values: a column of
    texts that all look like `2026-01-31` becomes timestamps, and a trainer then finds no text in it.
    """

    def __init__(self, columns: tuple[str, ...]):
        self.columns = columns
        self.date_columns: set[str] = set()
        self._suspects = set(columns)
        self._bytes = 0

    def add_row(self, row: dict[str, object], length: int) -> None:
        """Add a row whose line has `length` bytes."""
        if self._bytes > PIECE:
            self.end()
        self._bytes += length
        if self._suspects:
            self._suspects = {name for name in self._suspects if all(map(_is_date, _texts(row[name])))}

    def end(self) -> None:
        """Finish the file, or a piece of it."""
        if self._bytes:
            self.date_columns |= self._suspects
        self._suspects, self._bytes = set(self.columns), 0


def _texts(value: object) -> Iterable[str]:
    return value.texts if isinstance(value, Conversation) else [str(value)]


def _is_date(text):
    return len(text) <= LONGEST_DATE and DATE.fullmatch(text) is not None


BUFFER = 256 * 1024


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A finished file, as the manifest has it."""

    name: str
    bytes: int
    sha256: str
    rows: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The facts for the manifest, without `rows` where a file has none."""
        facts: dict[str, Any] = {"name": self.name, "bytes": self.bytes, "sha256": self.sha256}
        return facts if self.rows is None else {**facts, "rows": self.rows}


class RowFile:
    """A file of rows that is being written.

    Hashing and writing run beside the building of the next rows.

    `columns` are watched for dates; `head` is what stands before the first row.
    """

    def __init__(self, path: Path, columns: tuple[str, ...] = (), head: bytes = b""):
        self.path = path
        self.rows = 0
        self.bytes = len(head)
        self.dates = DateColumns(columns)
        self._hash = hashlib.sha256()
        self._file = path.open("xb", buffering=0)
        self._lines: list[bytes] = [head]
        self._length = len(head)
        self._writer = ThreadPoolExecutor(1)
        self._written: Future[None] | None = None

    def add(self, line: bytes, row: dict[str, Any]) -> None:
        """Append a row that has been checked."""
        self.dates.add_row(row, len(line))
        self.rows += 1
        self.bytes += len(line)
        self._lines.append(line)
        self._length += len(line)
        if self._length >= BUFFER:
            self._hand_over()

    def finish(self) -> FileFacts:
        """Put everything on the disk, and return the facts of the file."""
        self.dates.end()
        self._hand_over()
        self._wait()
        os.fsync(self._file.fileno())
        self.close()
        return FileFacts(self.path.name, self.bytes, self._hash.hexdigest(), self.rows)

    def close(self) -> None:
        """Stop writing, even if rows are missing."""
        self._writer.shutdown()
        self._file.close()

    def _hand_over(self):
        self._wait()
        self._written = self._writer.submit(self._write, b"".join(self._lines))
        self._lines, self._length = [], 0

    def _wait(self):
        """Wait until the last data is written; raises its error, such as a full disk."""
        if self._written:
            self._written.result()

    def _write(self, data):
        self._hash.update(data)
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def write_text(path: Path, data: bytes) -> FileFacts:
    """Write one document."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())


OTHER = re.compile(r"[^A-Za-z0-9_]+")
LONGEST_NAME = 64  # characters of a name that file names repeat
HASH = 8  # of these are a hash, where the rest is not the whole name


def slug(name: str) -> str:
    """A name in ASCII letters, digits, `_` and `-`.

    Blanks become `-`; a short hash stands for anything else that was lost.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    short_name = OTHER.sub("-", plain).strip("-_")
    if short_name == name.replace(" ", "-") and len(short_name) <= LONGEST_NAME:
        return short_name
    digest = hashlib.sha256(name.encode()).hexdigest()[:HASH]
    short_name = short_name[: LONGEST_NAME - HASH - 1].strip("-_")
    return f"{short_name}-{digest}" if short_name else digest


def dataset_name(name: str, kind: str) -> str:
    """The name of an export's training rows for trainers; its file names begin with it."""
    return f"ocl_{slug(name)}_{kind}"


def side_name(dataset: str, side: str) -> str:
    """The name of one side's rows for trainers."""
    return dataset if side == "train" else f"{dataset}_{side}"


def file_name(dataset: str, side: str, kind: str) -> str:
    """The name of the file of one side."""
    return f"{dataset}.{side}.{kind if kind in ('csv', 'parquet') else 'jsonl'}"


CHECKSUM_FILE = "SHA256SUMS"


def format_checksums(sums: Iterable[tuple[str, str]]) -> bytes:
    """The content of the file for names and their hashes."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(sums)).encode()


GROUP_ROWS, GROUP_BYTES = 1_000, 8_000_000  # of rows that are in memory together


def is_installed() -> bool:
    """Whether Parquet can be written here."""
    return find_spec("pyarrow") is not None


class ParquetFile:
    """A Parquet file of rows that is being written; it has the interface of RowFile.

    `columns`: the messages, then texts. `is_marked`: messages say whether to learn them.
    """

    def __init__(self, path: Path, columns: tuple[str, ...], *, is_marked: bool):
        self.path = path
        self.rows = 0
        self.dates = DateColumns(())  # the types of columns are written down: no loader guesses them
        self._arrow = import_module("pyarrow")
        self._schema = _build_schema(self._arrow, columns, is_marked=is_marked)
        self._file = path.open("xb")
        self._writer = import_module("pyarrow.parquet").ParquetWriter(self._file, self._schema, write_page_index=True)
        self._group: list[dict[str, Any]] = []
        self._length = 0

    def add(self, line: bytes, row: dict[str, Any]) -> None:
        """Append a row that has been checked, from its line of JSON."""
        self.rows += 1
        self._group.append(_flatten_row(orjson.loads(line)))
        self._length += len(line)
        if len(self._group) >= GROUP_ROWS or self._length >= GROUP_BYTES:
            self._write_group()

    def finish(self) -> FileFacts:
        """Put everything on the disk, and return the facts of the file."""
        self._write_group()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFacts(self.path.name, self.path.stat().st_size, digest, self.rows)

    def close(self) -> None:
        """Stop writing, even if rows are missing."""
        self._file.close()

    def _write_group(self):
        if self._group:
            self._writer.write_table(self._arrow.Table.from_pylist(self._group, schema=self._schema))
        self._group, self._length = [], 0


# In the order of their dialect: those of a result are in another order in the file.
MESSAGE_KEYS = ("role", "name", "tool_call_id", "content", "tool_calls", "train")


def read_parquet(path: Path) -> Iterator[dict[str, Any] | None]:
    """The rows of a Parquet file as they were added, a group in memory at a time; None for what cannot be read."""
    try:
        for batch in import_module("pyarrow.parquet").ParquetFile(path).iter_batches(GROUP_ROWS):
            for row in batch.to_pylist():
                row["messages"] = [
                    {name: message[name] for name in MESSAGE_KEYS if message.get(name) is not None}
                    for message in row["messages"]
                ]
                for call in (call for message in row["messages"] for call in message.get("tool_calls", ())):
                    call["function"]["arguments"] = orjson.loads(call["function"]["arguments"])
                yield row
    except (ValueError, KeyError, TypeError):  # pyarrow's own errors are ValueErrors
        yield None


def _build_schema(arrow, columns, *, is_marked):
    text = arrow.string()
    function = arrow.struct([("name", text), ("arguments", text)])
    call = arrow.struct([("id", text), ("type", text), ("function", function)])
    keys = [
        ("role", text),
        ("content", text),
        ("name", text),
        ("tool_call_id", text),
        ("tool_calls", arrow.list_(call)),
    ]
    message = arrow.struct([*keys, *([("train", arrow.bool_())] if is_marked else [])])
    first, *others = columns
    return arrow.schema([(first, arrow.list_(message)), *((name, text) for name in others)])


def _flatten_row(row):
    """A row whose calls have their arguments as texts of JSON."""
    for message in row["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = orjson.dumps(call["function"]["arguments"]).decode()
    return row
