import pytest

from openclaw_web import clock
from tests.factories import BackupRunFactory


@pytest.fixture
def proven(settings, tmp_path, db):
    """A home of which nobody has to say that it was never backed up: the backup that proves it."""
    settings.HOME_DIR = tmp_path
    return BackupRunFactory(proven_at=clock.now_ms())
