import pytest

from agents import databases
from tests.factories import SessionFactory


@pytest.fixture
def own_home(ada, settings, tmp_path):
    """A home of ours with the agent ada, whose tables are in memory.

    Her file exists, because its size is read.
    """
    settings.HOME_DIR = tmp_path / "home"
    (settings.HOME_DIR / "state").mkdir(parents=True)
    databases.get_path("ada").parent.mkdir(parents=True)
    databases.get_path("ada").touch()
    return settings.HOME_DIR


@pytest.fixture
def old(own_home):
    """A session that ended long ago."""
    return SessionFactory(db="agent_ada", last_activity_at=1_000)
