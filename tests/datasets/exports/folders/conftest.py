"""An export for the tests of its files."""

import pytest

from tests.datasets.exports.export_helpers import add_approved_samples, make_export


@pytest.fixture
def export(own_home, as_reviewer):
    """An export of three samples, requested on the page."""
    add_approved_samples(3)
    return make_export(as_reviewer)
