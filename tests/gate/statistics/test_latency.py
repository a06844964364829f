"""Percentiles of histograms, against exact ones."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gate.statistics import latency


def exact(values, share):
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


@given(st.lists(st.integers(0, 2**53), min_size=1, max_size=200) | st.lists(st.integers(0, 300), min_size=1))
def test_percentiles_are_within_five_percent(values):
    histogram = Counter(map(latency.bucket, values))
    for share in (0.01, 0.5, 0.95, 1.0):
        true = exact(values, share)
        assert abs(latency.percentile(histogram, share) - true) <= 0.05 * true


def test_of_nothing_there_is_none():
    assert latency.percentiles({}, (0.5, 0.95)) == [None, None]


@given(st.lists(st.integers(0, 10**6)), st.lists(st.integers(0, 10**6)))
def test_histograms_add_up_and_what_is_taken_away_is_gone(values, added_values):
    histogram = dict(Counter(map(latency.bucket, values)))
    before = dict(histogram)
    added = Counter(map(latency.bucket, added_values))
    latency.add(histogram, added)
    assert histogram == Counter(map(latency.bucket, [*values, *added_values]))
    latency.add(histogram, {name: -count for name, count in added.items()})
    assert histogram == before
