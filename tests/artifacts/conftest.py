import pytest

from artifacts.store import layout


@pytest.fixture
def root(settings, tmp_path, ada):
    """The store of a home of its own, in which the agent ada is."""
    settings.HOME_DIR = tmp_path / "home"
    return layout.root()
