import pytest


@pytest.fixture
def client(as_stranger, ada, bob):
    """A browser of a person who may only look, with the agents ada and bob."""
    return as_stranger
