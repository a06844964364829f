"""Measures of agreement, against the libraries people know, published tables, and rules that hold for all tables."""

import json
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.queues import agreement

LIBRARIES = json.loads((Path(__file__).with_name("data") / "agreement.json").read_text())
# Krippendorff (2011), four observers of twelve units; the example of the package krippendorff, three coders.
FOUR = (
    "123321412...",
    "12332241 25.3".replace(" ", ""),
    ".33323422 51.".replace(" ", ""),
    "12332441 251.".replace(" ", ""),
)
THREE = (".....34121133.3", "1.21334 3.......".replace(" ", ""), "..21344.2113 3.4".replace(" ", ""))
TABLES = st.lists(st.lists(st.sampled_from("abc"), max_size=5).map(tuple), min_size=1, max_size=30)
PAIRS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=2, max_size=40)


def read_table(observers):
    return Counter(tuple(value for value in unit if value != ".") for unit in zip(*observers, strict=True))


@pytest.mark.parametrize("measure", ["alpha", "ac1", "percent", "kappa"])
def test_equal_to_the_libraries(measure):
    compared = 0
    for row in LIBRARIES["tables"]:
        if measure in row["values"]:
            items = Counter(tuple(value for value in values if value is not None) for values in row["table"])
            assert getattr(agreement, measure)(items) == pytest.approx(row["values"][measure], abs=1e-9)
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize(("observers", "value"), [(FOUR, 0.743), (THREE, 0.691)])
def test_equal_to_published_alphas(observers, value):
    assert agreement.alpha(read_table(observers)) == pytest.approx(value, abs=0.0005)


def test_equal_to_a_published_kappa():
    grants = Counter({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15})
    assert agreement.kappa(grants) == pytest.approx(0.4)
    assert agreement.percent(grants) == pytest.approx(0.7)
    assert agreement.build_specific(lambda value: value == "yes")(grants) == pytest.approx(40 / 55)


@given(TABLES)
def test_the_order_of_values_and_items_does_not_matter(items):
    turned = Counter(tuple(reversed(item)) for item in reversed(items))
    for measure in (agreement.alpha, agreement.ac1, agreement.percent):
        assert measure(turned) == pytest.approx(measure(Counter(items)), abs=1e-12)


@given(TABLES)
def test_other_names_of_values_change_nothing(items):
    named = Counter(tuple({"a": "x", "b": "y", "c": "z"}[value] for value in item) for item in items)
    for measure in (agreement.alpha, agreement.ac1, agreement.percent):
        assert measure(named) == pytest.approx(measure(Counter(items)), abs=1e-12)


@given(TABLES)
def test_values_are_in_their_ranges_and_complete_agreement_is_one(items):
    counts = Counter(items)
    if (share := agreement.percent(counts)) is None:
        assert agreement.alpha(counts) is None or not any(len(item) > 1 for item in items)
        return
    for value in (agreement.alpha(counts), agreement.ac1(counts)):
        assert value is None or value <= 1 + 1e-12
        assert share < 1 or value is None or value == pytest.approx(1)


@given(PAIRS)
def test_alpha_of_two_people_is_kappa_of_swapped_ones(pairs):
    """With both orders of each pair both people have equal shares; alpha differs by its finite sample only."""
    """With both orders of each pair the shares of both people are equal; alpha differs by its finite sample only."""
    both = Counter(pairs) + Counter((b, a) for a, b in pairs)
    alpha, kappa = agreement.alpha(both), agreement.kappa(both)
    if kappa is not None:
        n = 2 * both.total()
        assert 1 - alpha == pytest.approx((1 - kappa) * (n - 1) / n)


@given(PAIRS)
def test_the_interval_is_the_jackknife_of_single_items(pairs):
    counts = Counter(pairs)
    estimate = agreement.estimate(agreement.ac1, counts)
    terms = [agreement.ac1(counts - Counter([pair])) for pair in pairs]
    variance = (len(pairs) - 1) / len(pairs) * sum((term - fmean(terms)) ** 2 for term in terms)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.value - estimate.low == pytest.approx(
        min(1.959964 * variance**0.5, estimate.value + 1), rel=1e-5, abs=1e-9
    )


def test_few_items_have_no_measure_and_equal_ones_still_have_a_width():
    assert set(agreement.measure_all([("a", "a")] * 19, "a").values()) == {None}
    measures = agreement.measure_all([("a", "a")] * 20, "a", is_pair=True)
    assert measures["alpha"] is None and measures["kappa"] is None and measures["negative"] is None
    assert measures["percent"].value == 1 and 0.8 < measures["percent"].low < 0.9
    assert measures["ac1"].value == measures["positive"].value == 1
