"""Samples that releases are made of."""

import pytest

from tests.datasets.releases.release_helpers import add_session


@pytest.fixture
def samples(home):
    """Twenty sessions, each with one approved sample: x0-1 to x19-1."""
    for number in range(20):
        add_session(number)
