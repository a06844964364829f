"""Writes of a list that people cannot judge.

test_verdict_places tests the rest.
"""

import pytest

from tests.datasets.conversations import store_turns
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db


def test_a_rollback_has_no_buttons(as_reviewer, ada):
    """A rollback's fact is that of the write it reverted, so a verdict would be ambiguous.

    "Right" would teach both to write the fact and to remove it.
    """
    store_turns(1)
    create_write("agent_ada", 4, b"x4", b"", turn_id="s1:u1", origin="rollback")
    assert "<form" not in as_reviewer.get("/agents/ada/write-verdicts/", {"ids": ["w4"]}).text
    page = as_reviewer.get("/agents/ada/write-verdicts/w4/", headers={"HX-Request": "true"}).text
    assert "A rollback cannot become a sample." in page and 'value="right"' not in page
