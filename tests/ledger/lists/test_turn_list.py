"""The list of an agent's turns."""

import re

import pytest

from tests.factories import T0, EventFactory, SessionFactory, TurnFactory
from tests.ledger.transcript_records import get_text

ADA = "/agents/ada/turns/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1", title="The nightly import")


def turn(session, number, **columns):
    columns = {"created_at": T0 + number, "user_message_content": f"number {number}"} | columns
    TurnFactory(session=session, id=f"{session.id}:{number}", turn_number=number, **columns)


def read_numbers(response):
    """Read the numbers in the texts of a page, in order."""
    return [int(number) for number in re.findall(r"number (\d+)<", get_text(response))]


def test_it_works(client, session):
    turn(session, 1, agent_message_content="At nine.", model="gpt-5", total_tokens=4200, cost_usd=0.02, latency_ms=1500)
    page = client.get(ADA)
    for words in ("1 turn of ada", "number 1", "At nine.", "The nightly import", "gpt-5", "4.2k", "$0.02", "1.5 s"):
        assert words in get_text(page)
    assert 'href="/agents/ada/sessions/s1/?turn=1"' in get_text(page)


def test_branches_that_were_left_are_shown_when_asked(client, session):
    turn(session, 1)
    turn(session, 2, is_active=False)
    assert read_numbers(client.get(ADA)) == [1]
    assert read_numbers(client.get(f"{ADA}?branches=on")) == [2, 1]


def test_one_session_is_in_its_order(client, session):
    turn(session, 1, created_at=T0 + 9)
    turn(session, 2, created_at=T0)
    assert read_numbers(client.get(f"{ADA}?session=s1&sort=time")) == [1, 2]


def test_turns_that_called_a_tool(client, session):
    for number, tool in ((1, "exec"), (2, "read")):
        turn(session, number, first_seq=number * 10, last_seq=number * 10 + 5)
        EventFactory(session=session, seq=number * 10 + 2, tool_name=tool)
    assert read_numbers(client.get(f"{ADA}?tool=exec")) == [1]
    assert read_numbers(client.get("/turns/?tool=read")) == [2]


@pytest.mark.parametrize("query", ["?cost=-1", "?cost=nan", "?tokens=1e400", "?tokens=99999999999999999999", "?sort=x"])
def test_an_impossible_address_says_what_to_do(client, query):
    page = client.get(ADA + query)
    assert page.status_code == 409
    assert "Start again" in get_text(page)
