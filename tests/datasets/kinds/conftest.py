"""A row that people judge: of each kind in turn, or of a named kind."""

import pytest

from tests.datasets.kinds import cases


@pytest.fixture(params=cases.CASES)
def case(request, ada):
    """A case of a kind, with its row."""
    return cases.make_case(request.param)
