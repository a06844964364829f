"""Decisions beside the turns of a session."""

import re
from html import unescape

import pytest

from gate.decisions import find_by_turn
from tests.factories import T0, DecisionFactory
from tests.ledger.transcript_records import get_text, store_session, working_turns

PART = "/agents/ada/sessions/s1/decisions/of/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(ada):
    """The ids of the turns of a session."""
    session = store_session(*working_turns(3))
    return dict(session.turns.values_list("turn_number", "id"))


def decide(turn_id, decision_id, **columns):
    return DecisionFactory(**{"id": decision_id, "session_id": "s1", "turn_id": turn_id} | columns)


def read_links(page):
    return re.findall(r'id="([^"]+)"[^>]*href="([^"]+)"', get_text(page))


def test_a_turn_leads_to_its_decision(as_stranger, turns):
    decide(turns[2], "d2")
    page = as_stranger.get("/agents/ada/sessions/s1/").text
    (address,) = re.findall(r'hx-get="(/agents/ada/sessions/s1/decisions/of/[^"]*)"', page)
    assert 'href="/agents/ada/gate/?session=s1"' in page  # without JavaScript
    answer = as_stranger.get(unescape(address))
    assert read_links(answer) == [("decision-of-2", "/agents/ada/gate/d2/")]
    assert "UPDATE_USER" in get_text(answer)
    assert all(page.count(f'id="decision-of-{number}"') == 1 for number in turns)


def test_only_turns_that_were_asked_for(as_stranger, turns):
    decide(turns[2], "d2")
    for query in ("?turn=1&turn=3", "", "?turn=x&turn=-1&turn=99999999999999"):
        assert read_links(as_stranger.get(PART + query)) == []
    assert read_links(as_stranger.get("/agents/ada/sessions/other/decisions/of/?turn=2")) == []


def test_of_several_on_a_turn_one_is_shown(as_stranger, turns):
    decide(turns[1], "own", origin="own", created_at=T0 + 9)
    decide(turns[1], "imported", origin="imported", created_at=T0 + 5)
    decide(turns[2], "first", created_at=T0), decide(turns[2], "second", created_at=T0 + 1)
    decide(turns[2], "later", origin="imported", created_at=T0 + 9)
    decide(turns[3], "only", origin="own")
    decisions = find_by_turn("agent_ada", list(turns.values()))
    expected = {1: "imported", 2: "second", 3: "only"}
    assert {turn_id: row.id for turn_id, row in decisions.items()} == {turns[n]: name for n, name in expected.items()}
    page = as_stranger.get(f"{PART}?turn=1&turn=2&turn=3")
    assert sorted(read_links(page)) == [
        (f"decision-of-{n}", f"/agents/ada/gate/{name}/") for n, name in expected.items()
    ]
