import pytest

from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session
from tests.suite.browsers import BACKEND


@pytest.fixture
def client(client, reviewer):
    """A browser of a labeller; ada and bob are there."""
    client.force_login(reviewer, backend=BACKEND)
    return client


@pytest.fixture
def edited():
    """A session whose second question was asked three times.

    First r3 and r4, then r5 to r7, then r8 and r9.
    """
    return store_session(
        user("one"),
        assistant("1"),
        user("two"),
        assistant("2"),
        user("two <b>again") | {"parentId": "r2"},
        assistant("", ("c", "exec", {})),
        result("c", "found"),
        user("two, please") | {"parentId": "r2"},
        assistant("at last"),
    )
