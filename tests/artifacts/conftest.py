import pytest

from artifacts.store import layout
from tests.people.test_roles import sign_in_browser


@pytest.fixture
def root(settings, tmp_path, ada):
    """The store of a home of its own, in which the agent ada is."""
    settings.HOME_DIR = tmp_path / "home"
    return layout.get_root()


@pytest.fixture
def client(as_stranger, root, bob):
    """A browser of a viewer; ada and bob exist, and the store is empty."""
    return as_stranger


@pytest.fixture
def boss(admin, client):
    """A browser of an admin, beside the other one."""
    return sign_in_browser(admin)
