import pytest


@pytest.fixture
def client(as_stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    return as_stranger
