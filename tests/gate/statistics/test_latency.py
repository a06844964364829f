"""Percentiles of histograms, against exact ones."""

import math
from collections import Counter

import pytest
from django.db import DEFAULT_DB_ALIAS
from hypothesis import given
from hypothesis import strategies as st

from gate.statistics import latency
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

pytestmark = pytest.mark.django_db
BUCKETS = f"SELECT {latency.BUCKET_SQL} FROM (SELECT value AS llm_latency_ms FROM {dialect.json_array('listed')})"


def count_buckets(values):
    return Counter(bucket for (bucket,) in statements.read_rows(DEFAULT_DB_ALIAS, BUCKETS, [encode(values)]))


def exact(values, share):
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


@given(st.lists(st.integers(0, latency.MOST), min_size=1, max_size=200) | st.lists(st.integers(0, 300), min_size=1))
def test_percentiles_are_within_five_percent(values):
    histogram = count_buckets(values)
    for share in (0.01, 0.5, 0.95, 1.0):
        true = exact(values, share)
        assert abs(latency.percentile(histogram, share) - true) <= 0.05 * true


def test_of_nothing_there_is_none():
    assert latency.percentiles({}, (0.5, 0.95)) == [None, None]


@given(st.lists(st.integers(0, 10**6)), st.lists(st.integers(0, 10**6)))
def test_histograms_add_up_and_what_is_taken_away_is_gone(values, added_values):
    histogram = dict(count_buckets(values))
    before = dict(histogram)
    added = count_buckets(added_values)
    latency.add(histogram, added)
    assert histogram == count_buckets([*values, *added_values])
    latency.add(histogram, {name: -count for name, count in added.items()})
    assert histogram == before
