import pytest


@pytest.fixture
def client(as_stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    return as_stranger


@pytest.fixture
def store(settings, tmp_path, ada):
    """An artifact store of its own; ada is there."""
    settings.HOME_DIR = tmp_path / "home"
