"""Filters the records of one session by kind, by tool and by words.

A search reads a window of records, and reports that. Words are searched in whole texts: in outputs that are artifacts,
and in long texts of which a row has the beginning.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import IsAmong
from openclaw_web.sqlite.json_columns import decode
from search import narrow
from search.query import parse
from search.sources import list_texts
from search.words import fold

from ..collectors.records import Facts, read_facts
from ..outputs import stashed_outputs as outputs
from .branch_records import BranchRecords

KINDS = {
    "errors": _("errors"),
    "tools": _("tool calls"),
    "user": _("user messages"),
    "agent": _("agent messages"),
    "thinking": _("thinking"),
    "compactions": _("compactions"),
    "memory": _("writes to memory files"),
}
CALLING = Q(tool_call_count__gt=0)
CONDITIONS = {
    "": Q(),
    "errors": Q(is_failed=True),
    "tools": CALLING | Q(kind="tool_result"),
    "user": Q(kind="user"),
    "agent": Q(kind="assistant"),
    "thinking": Q(kind="assistant"),
    "compactions": Q(kind__in=("compaction", "branch_summary")),
    "memory": CALLING,
}
MEMORY_FILES = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md")
WRITERS = frozenset({"write", "edit", "multi_edit", "apply_patch", "write_file", "edit_file", "str_replace"})
PATHS = ("path", "file_path", "filePath", "file")
PATCHES = ("patch", "input", "_text", "diff")
SIZE = 30  # hits on a page
WINDOW = 5_000  # records whose texts one search reads
FAR = 200_000  # records whose columns one search reads
BYTES = 32_000_000  # of records, and of what they leave out, that one search reads
AHEAD = 4_000_000  # characters of packed texts that are read at a time
BATCH = 100  # records read at a time
AROUND = 12  # records beside a hit that may belong to the same call


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A filter of a session's records; empty values do not filter."""

    kind: str = ""
    tool: str = ""
    find: str = ""

    def __bool__(self):
        return bool(self.kind or self.tool or self.find)

    @property
    def condition(self):
        """The condition on the columns of a record."""
        return CONDITIONS[self.kind] & (Q(kind="tool_result", tool_name=self.tool) if self.tool else Q())

    @property
    def reads_texts(self):
        """Whether the filter has to read texts, not only columns."""
        return bool(self.find or self.kind in ("thinking", "memory"))

    def may_fit(self, record_facts: Facts) -> bool:
        """Whether a record's facts fit the parts that columns lack, except for the words."""
        if self.kind == "thinking" and not record_facts.thinking:
            return False
        return self.kind != "memory" or any(map(writes_memory, record_facts.calls))

    @property
    def query(self):
        """The words as a query of the search; None where there are only signs."""
        return _parse(self.find)

    def has_words(self, record_facts: Facts) -> bool:
        """Whether the texts of a record have the words; signs alone are looked for as they are."""
        calls = (text for call in record_facts.calls for text in (call.name, *list_texts(call.arguments)))
        texts = {"text": record_facts.text, "thinking": record_facts.thinking, "call": "\n".join(calls)}
        texts["error"] = record_facts.error or ""
        if self.query is None:
            return any(self.find.strip() in text for text in texts.values())
        return bool(self.query.find_fields({name: fold(text) for name, text in texts.items()}))


@dataclass(slots=True)
class FilterResult:
    """Records that fit, in order, with the results of their calls.

    `earlier` and `later` are places to continue from. A search that stopped at its window `is_partial`: it read
    `looked_at` records.
    """

    rows: list = field(default_factory=list)
    hits: int = 0
    earlier: int | None = None
    later: int | None = None
    is_partial: bool = False
    looked_at: int = 0


def find_records(
    records: BranchRecords, record_filter: RecordFilter, columns, *, after=-1, before=None
) -> FilterResult:
    """The records of a branch that fit, after a record or before one."""
    backwards = before is not None
    start = min(before, records.session.record_count) if backwards else after
    rows, end, is_last = _search(records, record_filter, columns, start, backwards=backwards)
    result = FilterResult(rows, len(rows), is_partial=not is_last and len(rows) < SIZE, looked_at=abs(end - start))
    if backwards:
        result.rows.reverse()
        result.later = (rows[-1]["seq"] if rows else start - 1) if start < records.session.record_count else None
        result.earlier = None if is_last else rows[0]["seq"] if len(rows) == SIZE else end
    else:
        result.earlier = (rows[0]["seq"] if rows else start + 1) if after >= 0 else None
        result.later = None if is_last else rows[-1]["seq"] if len(rows) == SIZE else end
    # The hits with the records that belong to them: calls of results, results of calls.
    hits = {row["seq"]: row for row in rows}
    near = {seq for row in rows if row["kind"] == "tool_result" for seq in range(row["seq"] - AROUND, row["seq"])}
    near |= {seq for row in rows if row["tool_call_count"] for seq in range(row["seq"] + 1, row["seq"] + AROUND)}
    if missing := near - hits.keys():
        parts = records.session.events.filter(CONDITIONS["tools"], seq__in=missing).values(*columns)
        nearby = {row["seq"]: row for row in parts} | hits
        for row in rows:
            _join_call(hits, nearby, row)
    result.rows = [hits[seq] for seq in sorted(hits)]
    return result


def writes_memory(call):
    """Whether a tool call writes one of the memory files of a workspace.

    `call` is a ledger.collectors.records.ToolCall.
    """
    if call.name not in WRITERS:
        return False
    path = next((value for name in PATHS if isinstance(value := call.arguments.get(name), str)), "")
    patch = next((value for name in PATCHES if isinstance(value := call.arguments.get(name), str)), "")
    names_in_call = [path, *(line.partition(": ")[2] for line in patch.splitlines()[:2000] if line.startswith("*** "))]
    return any(_is_memory_file(name.strip().replace("\\", "/")) for name in names_in_call)


def _is_memory_file(path):
    *folders, name = path.split("/")
    return name in MEMORY_FILES or (name.endswith(".md") and folders[-1:] == ["memory"])


def _search(records, record_filter, columns, start, *, backwards):
    """`(hits in reading order, the last place that was read, whether it was the end)`."""
    condition, seqs = record_filter.condition, None
    if record_filter.find and record_filter.query:
        session = records.session
        keys = narrow.find_keys(session._state.db, record_filter.find, "record", session.id, is_compared=False)
        seqs = keys if keys is None else [seq for _session_id, seq in keys]
        condition &= Q() if seqs is None else Q(IsAmong(("seq",), seqs))
    last = 0 if backwards else records.session.record_count - 1
    window = WINDOW if record_filter.reads_texts and seqs is None else FAR
    end = max(start - window, 0) if backwards else min(start + window, last)
    hits, at, texts = [], start, _Texts(records.session, record_filter)
    while len(hits) < SIZE:
        limit = BATCH if record_filter.reads_texts else SIZE
        read, until = (records.before, {"since": end}) if backwards else (records.after, {"until": end})
        batch = read(at, limit, *columns, only=condition, **until)
        for number, row in enumerate(batch):
            at = row["seq"]
            if not record_filter.reads_texts or texts.fit(row, batch[number:]):
                hits.append(row)
            if len(hits) == SIZE or texts.size > BYTES:
                return hits, at, False
        if len(batch) < limit:
            return hits, end, end == last
    return hits, at, False


@lru_cache(64)
def _parse(text):
    with suppress(Refused):
        return parse(text)


class _Texts:
    """Reads the texts of records as far as a filter needs them.

    `size` is the number of characters that were read.
    """

    def __init__(self, session, record_filter):
        self.session = session
        self.record_filter = record_filter
        self.size = 0
        self._packed: dict[int, bytes | None] = {}

    def fit(self, row, following):
        """Whether a row fits; `following` are the rows from it on."""
        self.size += len(row["event_json"])
        record = decode(row["event_json"])
        record_facts = read_facts(record)
        if not record or not self.record_filter.may_fit(record_facts):
            return False
        if not self.record_filter.find or self.record_filter.has_words(record_facts):
            return True
        more = outputs.count_hidden(row["trim_json"])
        self.size += more
        return bool(more) and self.record_filter.has_words(self._read_whole(row, following))

    def _read_whole(self, row, following):
        if row["seq"] not in self._packed:
            self._read_ahead(following)
        record, _problem = outputs.read_whole_record(row["event_json"], self._packed[row["seq"]], row["trim_json"])
        return read_facts(record)

    def _read_ahead(self, rows):
        """Read packed records of the first rows in one query, up to AHEAD characters."""
        seqs, remaining = [], AHEAD
        for row in rows:
            if more := outputs.count_hidden(row["trim_json"]):
                seqs.append(row["seq"])
                remaining -= more
            if remaining < 0:
                break
        packed = self.session.events.filter(seq__in=seqs).values_list("seq", "full_zstd")
        self._packed = dict.fromkeys(seqs) | dict(packed)


def _join_call(hits, nearby, row):
    seq = row["seq"]
    if row["kind"] == "tool_result":
        while (before := nearby.get(seq := seq - 1)) is not None:
            hits[seq] = before
            if before["tool_call_count"]:
                return
    elif row["tool_call_count"]:
        while (after := nearby.get(seq := seq + 1)) is not None and after["kind"] == "tool_result":
            hits[seq] = after
