"""A comparison names the cases that break, and has the interval of the paired difference."""

import pytest

from gate.replays.comparison import Comparison


def build(both_right, broken, fixed, both_wrong):
    """Compare this many cases of each kind."""
    kinds = ((True, True), both_right), ((True, False), broken), ((False, True), fixed), ((False, False), both_wrong)
    pairs = [pair for pair, count in kinds for _number in range(count)]
    outcomes = {f"c{number}": pair for number, pair in enumerate(pairs)}
    return Comparison.build(outcomes, outcomes)


@pytest.mark.parametrize(
    ("counts", "difference", "low", "high"),
    [
        # Newcombe (1998), table of examples, method 10; there the first proportion is the original.
        ((36, 12, 2, 0), -0.2, -0.3404, -0.0569),
        # Cavo et al. (2012) in Fagerland, Lydersen, Laake: Statistical Analysis of Contingency Tables, chapter 8.
        ((59, 6, 16, 80), 0.0621, 0.0046, 0.1186),
        # By hand: Wilson of 40 of 40 begins at 0.9124, that of 37 of 40 is 0.8014 to 0.9742; the correlation is 0.
        ((37, 3, 0, 0), -0.075, -0.1986, 0.0255),
    ],
)
def test_the_interval_is_newcombes(counts, difference, low, high):
    compared = build(*counts)
    assert round(compared.difference, 4) == difference
    assert tuple(round(end, 4) for end in compared.interval) == (low, high)


def test_only_changed_cases_make_a_difference():
    assert build(10, 0, 0, 5).difference == build(1, 2, 2, 9).difference == 0
    assert build(10, 0, 0, 5).broken == []


def test_without_an_answer_a_case_is_left_out():
    compared = Comparison.build(["c1", "c2", "c3"], {"c2": (True, False)})
    assert (compared.broken, compared.left_out, compared.new.count) == (["c2"], ["c1", "c3"], 1)
    nothing = Comparison.build(["c1"], {})
    assert (nothing.difference, nothing.interval, nothing.left_out) == (None, None, ["c1"])
