"""A home of one test for tests of traces."""

import pytest


@pytest.fixture
def own_home(settings, tmp_path_factory):
    """An empty home."""
    settings.HOME_DIR = tmp_path_factory.mktemp("home")
    (settings.HOME_DIR / "state").mkdir()
    return settings.HOME_DIR
