"""Finds the largest set of sessions that must share a side of a split.

It is estimated from ids of sessions and hashes of words, before anything is written; an export itself also finds what
is nearly the same. No more samples are read than an answer has time for.
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
    query = samples.values_list(*COLUMNS)[:COUNTED_UP_TO].query.sql_with_params()
    rows = [
        (session_id or f"\0{agent_id}", sample_id, words)
        for agent_id, session_id, sample_id, words, why in statements.read_rows(DEFAULT_DB_ALIAS, *query)
        if why == FITS
    ]
    shared: dict[bytes, dict[str, str]] = defaultdict(dict)  # by words: a sample of each session that has them
    for session, sample_id, words in rows:
        if words:
            shared[words].setdefault(session, sample_id)
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
    for session, _sample_id, words in rows:
        if options.duplicates == ONE and words:
            if words in known:
                continue
            known.add(words)
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
        return len(split_words(*signatures.read_pair(read_sample(row)))) > SHORT
    except UnreadableSample:
        return False
