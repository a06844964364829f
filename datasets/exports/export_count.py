"""Counts what an export would have, and the largest set of sessions that must share a side of its split.

It is estimated from ids of sessions and hashes of words, before anything is written; an export itself also finds what
is nearly the same. No more samples are read than an answer has time for.
"""

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.db.models import Case, QuerySet, TextField, Value, When

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.time_limits import time_box

from ..dedup import signatures
from ..dedup.split_plan import ONE, SHORT
from ..dedup.texts import WORD
from ..models import DatasetSample
from ..sample_texts import UnreadableSample, read_sample
from . import words
from .changes import RESTS_ON_TOOLS
from .histories import CONTEXT, EDITED, SESSION
from .options import Options, check_options
from .source import RESTING, Source
from .turns import LEAVE_OUT
from .writer import ExportWriter

SETS_UP_TO = 10_000  # samples, the first in the order of agents, sessions and turns
READ_UP_TO = 500  # texts
SET_COLUMNS = ("agent_id", "session_id", "id", "signature__words", "why")
FITS = "fits"  # the `why` of a sample that no reason leaves out


class Sets:
    """Disjoint sets of sessions, each named by one of them."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        """The set that a session is in; its own when no other session is in it."""
        while (parent := self._parents.get(name, name)) != name:
            self._parents[name] = name = self._parents.get(parent, parent)
        return name

    def join(self, session: str, other: str) -> None:
        """Merge the sets of two sessions."""
        self._parents[self.find(session)] = self.find(other)


def find_largest_set(options: Options, samples: QuerySet[Any, Any]) -> tuple[int, int]:
    """The least number of rows in the largest set of connected sessions, and the samples counted.

    `samples` are in order, each with its `why`.
    """
    query = samples.values_list(*SET_COLUMNS)[:SETS_UP_TO].query.sql_with_params()
    rows = [
        (session_id or f"\0{agent_id}", sample_id, words_hash)
        for agent_id, session_id, sample_id, words_hash, why in statements.read_rows(DEFAULT_DB_ALIAS, *query)
        if why == FITS
    ]
    shared: dict[bytes, dict[str, str]] = defaultdict(dict)  # by words: a sample of each session that has them
    for session, sample_id, words_hash in rows:
        if words_hash:
            shared[words_hash].setdefault(session, sample_id)
    shared = {words: samples for words, samples in shared.items() if len(samples) > 1}
    largest, count = _count_largest(rows, shared, options)
    if 2 * largest <= count or options.duplicates != ONE:
        return largest, count
    return _count_largest(rows, _select_long(shared), options)


def _count_largest(rows, shared, options):
    """Rows of the largest set when sessions with these words are connected, and all rows."""
    sets = Sets()
    for samples in shared.values():
        first, *others = samples
        for other in others:
            sets.join(other, first)
    known: set[bytes] = set()
    counts: Counter[str] = Counter()
    for session, _sample_id, words_hash in rows:
        if options.duplicates == ONE and words_hash:
            if words_hash in known:
                continue
            known.add(words_hash)
        counts[sets.find(session)] += 1
    return max(counts.values(), default=0), counts.total()


def _select_long(shared):
    """The shared words that are more than a few.

    As many as there is time to read.
    """
    most = sorted(shared, key=lambda words: -len(shared[words]))[:READ_UP_TO]
    samples = {next(iter(shared[words].values())): words for words in most}
    rows = DatasetSample.objects.filter(id__in=samples).values(*signatures.SAMPLE_COLUMNS)
    return {samples[row["id"]]: shared[samples[row["id"]]] for row in rows if _is_long(row)}


def _is_long(row):
    try:
        return sum(len(WORD.findall(text)) for text in signatures.read_pair(read_sample(row))) > SHORT
    except UnreadableSample:
        return False


COUNTED_UP_TO = 50_000
STEPS = (1_000, 10_000, COUNTED_UP_TO)
BUDGET_MS = 250  # of 300 that an answer may take
PLACE = ("agent_id", "session_id", "turn_number", "id")

NUMBERS = """WITH some AS ({some} LIMIT %s)
SELECT why, COUNT(*), 0 FROM some GROUP BY why"""
# Of each session its first approved turn, and those whose numbers follow it one by one.
SESSIONS = f"""
UNION ALL
SELECT '', COALESCE({dialect.count_if("number = 1")}, 0), COUNT(*) FROM (
    SELECT turn_number, MIN(turn_number) OVER (PARTITION BY agent_id, session_id) AS first_number,
    ROW_NUMBER() OVER (PARTITION BY agent_id, session_id ORDER BY turn_number) AS number
    FROM (SELECT DISTINCT agent_id, session_id, turn_number FROM some
        WHERE why = 'fits' AND annotation_status IN ('approved', 'auto_approved')) turns
) numbered WHERE turn_number - number = first_number - 1"""  # noqa: S608 - our own words


@dataclass(slots=True)
class ExportCount:
    """How many samples fit some options, and what an export of them would be.

    With `is_more`, every number is a lower bound.
    """

    samples: int = 0
    rows: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    histories: dict[str, int] = field(default_factory=dict)  # rows with each history; empty where there is no choice
    session_samples: int = 0  # samples that the rows of the history `session` would teach
    counted: int = 0
    is_more: bool = False
    largest_set: int = 0  # samples of sessions that have to share a side, as far as words and ids tell
    set_counted: int = 0  # samples that were looked at for it

    def as_json(self) -> dict[str, Any]:
        """The numbers as values of JSON, the reasons as a list with their words."""
        excluded = [{"reason": name, "count": count, "why": why} for name, why, count in self.left_out]
        return asdict(self) | {"excluded": excluded}

    def take_numbers(self, written: ExportWriter) -> None:
        """Take the numbers of rows that were written, which are those of the export."""
        self.samples, self.rows, self.is_more = written.samples, written.rows, False
        self.excluded = {reason: entry["count"] for reason, entry in written.excluded.items()}
        self.histories |= {name: written.rows for name in self.histories if name == written.options.history}
        if written.options.is_split:
            self.largest_set, self.set_counted = written.plan.largest_set, written.plan.samples

    @property
    def has_dominant_set(self) -> bool:
        """Whether more than half of the samples that were looked at have to share a side."""
        return 2 * self.largest_set > self.set_counted

    @property
    def left_out(self) -> list[tuple[str, str, int]]:
        """Every reason with its words and the number of samples."""
        return [(name, str(words.EXCLUSIONS[name]), count) for name, count in self.excluded.items()]


def count_export(options: Options, *, budget_ms: int = BUDGET_MS) -> ExportCount:
    """Count at most COUNTED_UP_TO samples, for about `budget_ms` milliseconds. Raises Refused for wrong options.

    Only columns are read, so duplicates, lost outputs, secrets, the longest row and decisions of the gate are not in
    it.
    """
    check_options(options)
    export_count = ExportCount(is_more=True)
    with time_box(DEFAULT_DB_ALIAS, budget_ms) as is_up:
        try:
            for limit in STEPS:
                # The numbers of the first samples in the order of their places, at most `limit`.
                reasons, samples = _annotate_reasons(options)
                sql, values = samples.values(*PLACE[:-1], "annotation_status", "why").query.sql_with_params()
                is_conversation = options.shape.has_history
                numbers = NUMBERS.format(some=sql) + (SESSIONS if is_conversation else "")
                result_rows = statements.read_rows(DEFAULT_DB_ALIAS, numbers, [*values, limit + 1])
                export_count = _build_count(result_rows, reasons, options, limit)
                if not export_count.is_more:
                    break
            if options.is_split:
                export_count.largest_set, export_count.set_counted = find_largest_set(
                    options, _annotate_reasons(options)[1]
                )
        except OperationalError as exc:
            if not is_up(exc):
                raise
    return export_count


def _annotate_reasons(options):
    """Every reason for leaving a sample out with its condition, and all samples with their `why`."""
    source = Source(options)
    # The reasons that an export finds only while writing rows, as far as columns tell them.
    has_no_calls = options.shape.has_history and options.tool_calls == LEAVE_OUT
    reasons = dict(source.build_conditions()) | ({RESTS_ON_TOOLS: RESTING} if has_no_calls else {})
    why = Case(*[When(unwanted, then=Value(name)) for name, unwanted in reasons.items()],
               default=Value(FITS), output_field=TextField())  # fmt: skip
    return reasons, source.scope.annotate(why=why).order_by(*PLACE)


def _build_count(result_rows, reasons, options, limit):
    counts = {name: count for name, count, _more in result_rows}
    session_rows, session_samples = next(((rows, more) for name, rows, more in result_rows if not name), (0, 0))
    counted, samples = sum(count for name, count in counts.items() if name), counts.get(FITS, 0)
    histories = {EDITED: samples, SESSION: session_rows, CONTEXT: samples} if options.shape.has_history else {}
    return ExportCount(
        samples=samples,
        rows=histories.get(options.history, samples),
        excluded={name: counts[name] for name in reasons if name in counts},
        histories=histories,
        session_samples=session_samples,
        counted=min(counted, limit),
        is_more=counted > limit,
    )
