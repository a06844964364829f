"""Values that stand in texts of two agents, as a scan stores them."""

import pytest

from tests.datasets.finding_values.finding_rows import KEY, MAIL, find


@pytest.fixture
def stored(ada, bob):
    """An address in two agents' texts, and a key in one; the finding of the key."""
    find(ada, "s", 1, f"Write to {MAIL} <b>today</b>", MAIL)
    find(bob, "t", 1, f"Mail {MAIL}", MAIL)
    return find(ada, "s", 2, f"The key is {KEY}, keep it", KEY, "key")
