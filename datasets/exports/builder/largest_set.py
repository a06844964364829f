"""How many of the samples that fit an export are in sessions that have to share a side of its split.

Told from ids of sessions and hashes of words, before anything is written; an export itself also finds what is nearly
the same. No more samples are read than an answer has time for.
"""

from collections import Counter, defaultdict
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet

from openclaw_web.sqlite import statements

from ...dedup import signatures
from ...dedup.split_plan import ONE, SHORT
from ...dedup.texts import split_words
from ...exporters.samples import UnreadableSample, read_sample
from ...models import DatasetSample
from ..options import Options

COUNTED_UP_TO = 10_000  # samples, the first in the order of agents, sessions and turns
READ_UP_TO = 500  # texts
COLUMNS = ("agent_id", "session_id", "id", "signature__words", "why")
FITS = "fits"  # why a sample is counted: nothing leaves it out


class Sets:
    """Disjoint sets of sessions, each called after one of them."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The set that a session is in; its own when nothing has joined it."""
        while (parent := self._parents.get(name, name)) != name:
            self._parents[name] = name = self._parents.get(parent, parent)
        return name

    def join(self, one: str, other: str) -> None:
        """Make one set of two."""
        self._parents[self.of(one)] = self.of(other)


def find_largest_set(options: Options, samples: QuerySet[Any, Any]) -> tuple[int, int]:
    """How many rows the largest set of connected sessions would have at least, and how many were looked at.

    `samples` are in order, each with its `why`.
    """
    found = samples.values_list(*COLUMNS)[:COUNTED_UP_TO].query.sql_with_params()
    rows = [
        (session_id or f"\0{agent_id}", sample_id, words)
        for agent_id, session_id, sample_id, words, why in statements.read_rows(DEFAULT_DB_ALIAS, *found)
        if why == FITS
    ]
    shared: dict[bytes, dict[str, str]] = defaultdict(dict)  # by words: a sample of each session that has them
    for session, sample_id, words in rows:
        if words:
            shared[words].setdefault(session, sample_id)
    shared = {words: samples for words, samples in shared.items() if len(samples) > 1}
    largest, count = _largest(rows, shared, options)
    if 2 * largest <= count or options.duplicates != ONE:
        return largest, count
    return _largest(rows, _long(shared), options)


def _largest(rows, shared, options):
    """Rows of the largest set when sessions with these words are connected, and all rows."""
    sets = Sets()
    for samples in shared.values():
        first, *others = samples
        for other in others:
            sets.join(other, first)
    known: set[bytes] = set()
    counts: Counter[str] = Counter()
    for session, _sample_id, words in rows:
        if options.duplicates == ONE and words:
            if words in known:
                continue
            known.add(words)
        counts[sets.of(session)] += 1
    return max(counts.values(), default=0), counts.total()


def _long(shared):
    """Those words that are more than a few, as far as there is time to read them."""
    most = sorted(shared, key=lambda words: -len(shared[words]))[:READ_UP_TO]
    samples = {next(iter(shared[words].values())): words for words in most}
    rows = DatasetSample.objects.filter(id__in=samples).values(*signatures.SAMPLE_COLUMNS)
    return {samples[row["id"]]: shared[samples[row["id"]]] for row in rows if _is_long(row)}


def _is_long(row):
    try:
        return len(split_words(*signatures.read_pair(read_sample(row)))) > SHORT
    except UnreadableSample:
        return False
