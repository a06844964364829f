"""Writes of a list that people cannot judge: the rest is in test_verdict_places."""

import pytest

from tests.datasets.conversations import tell_turns
from tests.guardian.written import wrote

pytestmark = pytest.mark.django_db


def test_a_rollback_has_no_buttons(as_reviewer, ada):
    """Its fact is that of the write which it took back: "right" would teach to write it and take it out."""
    tell_turns(1)
    wrote("agent_ada", 4, b"x4", b"", turn_id="s1:u1", origin="rollback")
    assert "<form" not in as_reviewer.get("/agents/ada/write-verdicts/", {"ids": ["w4"]}).text
    page = as_reviewer.get("/agents/ada/write-verdicts/w4/", headers={"HX-Request": "true"}).text
    assert "A rollback cannot become a sample." in page and 'value="right"' not in page
