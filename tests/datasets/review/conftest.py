"""A site for reviewers, and the complaints of their browsers."""

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
    """The complaints of the browsers, which must be none."""
    complaints = []
    yield complaints
    assert complaints == []
