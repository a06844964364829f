import pytest

from openclaw_web import clock
from tests.factories import BackupRunFactory


@pytest.fixture
def proven(settings, tmp_path, db):
    """A backup that was test-restored now, so that its absence is no problem."""
    settings.HOME_DIR = tmp_path
    return BackupRunFactory(proven_at=clock.now_ms())
