import pytest


@pytest.fixture
def home(settings, tmp_path, ada, bob):
    """A home of ours with two agents, whose tables are in memory."""
    settings.HOME_DIR = tmp_path / "home"
    return settings.HOME_DIR
