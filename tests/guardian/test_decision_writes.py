"""Writes on the page of the decision that led to them."""

import re

import pytest

from tests.factories import DecisionFactory
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

DB = "agent_ada"
pytestmark = pytest.mark.django_db


def test_a_decision_leads_to_its_writes(as_stranger, ada):
    DecisionFactory(id="d1")
    create_write(DB, 1, None, b"a\n", decision_id="d1"), create_write(DB, 2, None, b"b\n", decision_id="other")
    page = get_text(as_stranger.get("/agents/ada/gate/d1/"))
    assert 'href="/agents/ada/writes/?decision=d1"' in page  # without JavaScript
    (address,) = re.findall(r'hx-get="(/agents/ada/writes/of/[^"]*)"', page)
    answer = get_text(as_stranger.get(address))
    assert "/agents/ada/writes/w1/" in answer and "/writes/w2/" not in answer


def test_a_decision_without_writes_says_so(as_stranger, ada):
    assert "No write followed." in get_text(as_stranger.get("/agents/ada/writes/of/d1/"))
    DecisionFactory(id="d1", decision="NO_WRITE", candidate_fact=None)
    page = get_text(as_stranger.get("/agents/ada/gate/d1/"))
    assert "decided to write nothing" in page and "/writes/of/" not in page
