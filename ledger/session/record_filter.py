"""Filter within one session: by kind of record, by tool, by words. A search looks through a window and says so.

Words are looked for in whole texts: in outputs that are artifacts, and in long texts of which a row has the beginning.
"""

from dataclasses import dataclass, field

import orjson
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from openclaw_web.sqlite.json_columns import decode

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
FAR = 200_000  # records that one look at columns passes
BYTES = 32_000_000  # of records, and of what they leave out, that one search reads
AHEAD = 4_000_000  # characters of packed texts that are read at a time
BATCH = 100  # records read at a time
AROUND = 12  # records beside a hit that may belong to the same call


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """What to narrow a session to; empty means nothing."""

    kind: str = ""
    tool: str = ""
    find: str = ""

    def __bool__(self):
        return bool(self.kind or self.tool or self.find)

    @property
    def condition(self):
        """What the columns of a record say."""
        return CONDITIONS[self.kind] & (Q(kind="tool_result", tool_name=self.tool) if self.tool else Q())

    @property
    def reads_texts(self):
        """Whether columns are not enough."""
        return bool(self.find or self.kind in ("thinking", "memory"))

    def may_fit(self, said: Facts) -> bool:
        """Whether the facts of a record fit the part that columns do not say, its words aside."""
        if self.kind == "thinking" and not said.thinking:
            return False
        return self.kind != "memory" or any(map(writes_memory, said.calls))

    def is_said(self, said: Facts) -> bool:
        """Whether all of the words are somewhere in what a record says."""
        arguments = (orjson.dumps(call.arguments, default=str).decode() for call in said.calls)
        names = (call.name for call in said.calls)
        text = "\n".join((said.text, said.thinking, said.error or "", *names, *arguments)).casefold()
        return all(word in text for word in self.find.casefold().split())


@dataclass(slots=True)
class FilterResult:
    """Records that fit, in order, with the results of their calls; cursors and what was looked at.

    `earlier` and `later` are places to go on from. A search that stopped at its window `is_partial`: it looked at
    `looked_at` records.
    """

    rows: list = field(default_factory=list)
    hits: int = 0
    earlier: int | None = None
    later: int | None = None
    is_partial: bool = False
    looked_at: int = 0


def find_records(reach: BranchRecords, wanted: RecordFilter, columns, *, after=-1, before=None) -> FilterResult:
    """The records of a way that fit, after a record or before one."""
    backwards = before is not None
    start = min(before, reach.session.record_count) if backwards else after
    rows, end, is_last = _search(reach, wanted, columns, start, backwards=backwards)
    found = FilterResult(rows, len(rows), is_partial=not is_last and len(rows) < SIZE, looked_at=abs(end - start))
    if backwards:
        found.rows.reverse()
        found.later = (rows[-1]["seq"] if rows else start - 1) if start < reach.session.record_count else None
        found.earlier = None if is_last else rows[0]["seq"] if len(rows) == SIZE else end
    else:
        found.earlier = (rows[0]["seq"] if rows else start + 1) if after >= 0 else None
        found.later = None if is_last else rows[-1]["seq"] if len(rows) == SIZE else end
    found.rows = _with_calls(reach, rows, columns)
    return found


def writes_memory(call):
    """Whether a tool call (ledger.collectors.records.ToolCall) writes one of the memory files of a workspace."""
    if call.name not in WRITERS:
        return False
    path = next((value for name in PATHS if isinstance(value := call.arguments.get(name), str)), "")
    patch = next((value for name in PATCHES if isinstance(value := call.arguments.get(name), str)), "")
    named = [path, *(line.partition(": ")[2] for line in patch.splitlines()[:2000] if line.startswith("*** "))]
    return any(_is_memory(name.strip().replace("\\", "/")) for name in named)


def _is_memory(path):
    *folders, name = path.split("/")
    return name in MEMORY_FILES or (name.endswith(".md") and folders[-1:] == ["memory"])


def _search(reach, wanted, columns, start, *, backwards):
    """`(hits in the order they were met, the last place looked at, whether that was the end)`."""
    last = 0 if backwards else reach.session.record_count - 1
    window = WINDOW if wanted.reads_texts else FAR
    end = max(start - window, 0) if backwards else min(start + window, last)
    hits, at, texts = [], start, _Texts(reach.session, wanted)
    while len(hits) < SIZE:
        limit = BATCH if wanted.reads_texts else SIZE
        batch = _batch(reach, wanted, columns, at, end, limit, backwards)
        for number, row in enumerate(batch):
            at = row["seq"]
            if not wanted.reads_texts or texts.fit(row, batch[number:]):
                hits.append(row)
            if len(hits) == SIZE or texts.size > BYTES:
                return hits, at, False
        if len(batch) < limit:
            return hits, end, end == last
    return hits, at, False


class _Texts:
    """What records say, read as far as a filter needs it; `size` is how much of it was read."""

    def __init__(self, session, wanted):
        self.session = session
        self.wanted = wanted
        self.size = 0
        self._packed: dict[int, bytes | None] = {}

    def fit(self, row, following):
        """Whether a row fits; `following` are the rows from it on."""
        self.size += len(row["event_json"])
        record = decode(row["event_json"])
        said = read_facts(record)
        if not record or not self.wanted.may_fit(said):
            return False
        if not self.wanted.find or self.wanted.is_said(said):
            return True
        more = outputs.count_hidden(row["trim_json"])
        self.size += more
        return bool(more) and self.wanted.is_said(self._whole(row, following))

    def _whole(self, row, following):
        if row["seq"] not in self._packed:
            self._read_ahead(following)
        record, _problem = outputs.read_whole_record(row["event_json"], self._packed[row["seq"]], row["trim_json"])
        return read_facts(record)

    def _read_ahead(self, rows):
        """The packed records of the first of these rows, as many as are not too long together: in one query."""
        seqs, left = [], AHEAD
        for row in rows:
            if more := outputs.count_hidden(row["trim_json"]):
                seqs.append(row["seq"])
                left -= more
            if left < 0:
                break
        packed = self.session.events.filter(seq__in=seqs).values_list("seq", "full_zstd")
        self._packed = dict.fromkeys(seqs) | dict(packed)


def _batch(reach, wanted, columns, at, end, limit, backwards):
    if backwards:
        return reach.before(at, limit, *columns, only=wanted.condition, since=end)
    return reach.after(at, limit, *columns, only=wanted.condition, until=end)


def _with_calls(reach, rows, columns):
    """The hits with what belongs to them: the call of a result, the results of a call."""
    met = {row["seq"]: row for row in rows}
    near = {seq for row in rows if row["kind"] == "tool_result" for seq in range(row["seq"] - AROUND, row["seq"])}
    near |= {seq for row in rows if row["tool_call_count"] for seq in range(row["seq"] + 1, row["seq"] + AROUND)}
    if missing := near - met.keys():
        parts = reach.session.events.filter(CONDITIONS["tools"], seq__in=missing).values(*columns)
        beside = {row["seq"]: row for row in parts} | met
        for row in rows:
            _join(met, beside, row)
    return [met[seq] for seq in sorted(met)]


def _join(met, beside, row):
    seq = row["seq"]
    if row["kind"] == "tool_result":
        while (before := beside.get(seq := seq - 1)) is not None:
            met[seq] = before
            if before["tool_call_count"]:
                return
    elif row["tool_call_count"]:
        while (after := beside.get(seq := seq + 1)) is not None and after["kind"] == "tool_result":
            met[seq] = after
