"""An export whose files are looked at."""

import pytest

from tests.datasets.exports.exporting import approve, make


@pytest.fixture
def export(own_home, as_reviewer):
    """An export of three samples, asked for on the page."""
    approve(3)
    return make(as_reviewer)
