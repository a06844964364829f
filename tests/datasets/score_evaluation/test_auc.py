"""The area under the ROC curve against a count of all pairs."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.score_evaluation.auc import estimate_area

NUMBERS = st.lists(st.sampled_from([0.0, 0.2, 0.25, 0.6, 0.9, 1.0]) | st.floats(0, 1), min_size=2, max_size=40)


def compare(positive, negative):
    return (positive > negative) + (positive == negative) / 2


@given(positives=NUMBERS, negatives=NUMBERS)
def test_it_is_the_share_of_pairs_in_order(positives, negatives):
    pairs = [compare(*pair) for pair in product(positives, negatives)]
    area = estimate_area(positives, negatives)
    assert math.isclose(area.value, sum(pairs) / len(pairs), abs_tol=1e-9)
    assert 0 <= area.low <= area.value + 1e-9 and area.value - 1e-9 <= area.high <= 1


@given(positives=NUMBERS, negatives=NUMBERS)
def test_the_interval_is_that_of_all_pairs(positives, negatives):
    """DeLong's variance as it is defined: the covariance of pairs that share a positive, and that share a negative."""
    value = sum(compare(*pair) for pair in product(positives, negatives)) / len(positives) / len(negatives)
    by_positive = [sum(compare(own, other) for other in negatives) / len(negatives) for own in positives]
    by_negative = [sum(compare(other, own) for other in positives) / len(positives) for own in negatives]
    variance = sum(
        sum((share - value) ** 2 for share in shares) / (len(shares) - 1) / len(shares)
        for shares in (by_positive, by_negative)
    )
    margin = 1.959964 * variance**0.5
    area = estimate_area(positives, negatives)
    assert math.isclose(area.low, max(0, value - margin), abs_tol=1e-9)
    assert math.isclose(area.high, min(1, value + margin), abs_tol=1e-9)


@given(positives=NUMBERS, negatives=NUMBERS)
def test_the_other_way_round_is_the_rest(positives, negatives):
    area, mirrored = estimate_area(positives, negatives), estimate_area(negatives, positives)
    assert math.isclose(area.value, 1 - mirrored.value, abs_tol=1e-9)
    assert math.isclose(area.low, 1 - mirrored.high, abs_tol=1e-9)
    assert math.isclose(area.strength, mirrored.strength, abs_tol=1e-9)


@given(positives=NUMBERS, negatives=NUMBERS)
def test_only_the_order_counts(positives, negatives):
    halved = [[number / 2 + 1 for number in numbers] for numbers in (positives, negatives)]
    places = {number: place for place, number in enumerate(sorted({*positives, *negatives}))}
    ranked = [[places[number] for number in numbers] for numbers in (positives, negatives)]
    assert estimate_area(*ranked) == estimate_area(positives, negatives)
    assert len({*halved[0], *halved[1]}) < len(places) or estimate_area(*halved) == estimate_area(*ranked)


@pytest.mark.parametrize(
    ("positives", "negatives", "value"),
    [([1, 1], [0, 0], 1), ([0, 0], [1, 1], 0), ([1, 1], [1, 1], 0.5), ([3, 1], [2, 0], 0.75)],
)
def test_known_areas(positives, negatives, value):
    assert estimate_area(positives, negatives).value == value
