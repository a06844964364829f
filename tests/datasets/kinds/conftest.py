"""A row that people judge: of each kind in turn, or of the one that a test names."""

import pytest

from tests.datasets.kinds import cases


@pytest.fixture(params=cases.CASES)
def case(request, ada):
    """A kind with a row of it."""
    return cases.plant(request.param)
