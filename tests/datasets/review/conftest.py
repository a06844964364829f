"""A site that people review on, and what their browsers complain of."""

import pytest

from tests.datasets.review.people import Site
from tests.processes import Home


@pytest.fixture
def site(tmp_path, browser, migrated):
    """A site with 30 samples."""
    home = Home.copied(migrated, tmp_path / "store")
    yield Site(home, browser)
    home.close()


@pytest.fixture
def complaints():
    """What browsers of people complain of: nothing."""
    complaints = []
    yield complaints
    assert complaints == []
