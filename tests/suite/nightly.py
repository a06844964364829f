"""Which cases of a test every run has, and which only --nightly."""

import pytest


def first(cases, count=1):
    """The cases of a `parametrize`, of which only the first `count` are for every run."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=pytest.mark.nightly if number >= count else ()) for number, case in enumerate(cases)
    ]
