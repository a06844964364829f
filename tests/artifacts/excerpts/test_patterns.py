"""Which patterns a search in an artifact takes, and how much work it does at most."""

import random

import pytest

from openclaw_web.errors import Refused
from tests.artifacts.excerpts.test_fetch import fetch, stash

pytestmark = pytest.mark.django_db


def test_a_pattern_that_would_explode_elsewhere_does_not(root):
    handle = stash("a" * 200_000 + "!")
    assert fetch(handle, mode="grep", pattern="(a+)+$").counts["matches"] == 0
    assert fetch(handle, mode="grep", pattern="(.*.*.*.*.*)*x").counts["matches"] == 0


@pytest.mark.parametrize("pattern", ["[ab]*a[ab]{101}c", "a{5,101}", "a{101,}", "a{500}"])
def test_a_pattern_with_too_many_repeats_is_refused(root, pattern):
    with pytest.raises(Refused, match="at most 100 times"):
        fetch(stash("ab"), mode="grep", pattern=pattern)


@pytest.mark.parametrize("pattern", ["(([ab]|[ab][ab]){30}|x){30}c", r"\pL{10}"])
def test_a_pattern_of_very_many_steps_is_refused(root, pattern):
    with pytest.raises(Refused, match="too large"):
        fetch(stash("ab"), mode="grep", pattern=pattern)


def test_a_search_that_takes_too_long_is_stopped(root, monkeypatch):
    monkeypatch.setattr("artifacts.excerpts.line_search.SECONDS", 0.1)
    lines = random.Random(7).choices("ab", k=1_000_000)
    for place in range(0, len(lines), 400):
        lines[place] = "\n"
    handle = stash("".join(lines))
    with pytest.raises(Refused, match=r"took more than 0.1 seconds and stopped at line [1-9][\d,]*\. "):
        fetch(handle, mode="grep", pattern="[ab]*a[ab]{100}c")
    assert fetch(handle, mode="grep", pattern="nowhere|[ab]{2}c").counts["matches"] == 0


def test_repeats_as_people_write_them(root):
    answer = fetch(stash("a1b2-00100 {101}\n"), mode="grep", pattern=r"[a-z0-9]{4}-\d{5} \{101\}|x{1,100}")
    assert answer.counts["matches"] == 1


def test_a_pattern_that_matches_nearly_everything_is_refused(root):
    with pytest.raises(Refused, match="more than 500,000 lines"):
        fetch(stash("\n" * 500_001), mode="grep", pattern="x*")
    assert fetch(stash("\n" * 500_000), mode="grep", pattern="x*").counts["matches"] == 500_000
