"""Fixtures shared by the tests of samples and exports."""

import pytest


@pytest.fixture
def own_home(settings, tmp_path, ada):
    """The folder of a site that has the agent ada: exports are written there."""
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir()
    return tmp_path
