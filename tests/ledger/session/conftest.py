import pytest

from tests.suite.browsers import BACKEND


@pytest.fixture
def client(client, reviewer):
    """A browser of a labeller; ada and bob are there."""
    client.force_login(reviewer, backend=BACKEND)
    return client
