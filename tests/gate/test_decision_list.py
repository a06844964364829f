"""The list of decisions, on the page, as files and in the API."""

import json
import re

import pytest

from tests.factories import T0, DecisionFactory, SessionFactory, TurnFactory
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/gate/", "/api/v1/agents/ada/gate/decisions"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; the agents ada and bob exist."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1", title="The nightly import", session_key="agent:ada:irc:group:#lab")


def decide(number, **columns):
    """Stores a decision with this number in its reason, made this many milliseconds after the first."""
    columns = {"session_id": "s1", "created_at": T0 + number, "reason": f"number {number}"} | columns
    return DecisionFactory(id=f"d{number}", **columns)


def read_numbers(response):
    """Returns the numbers in the reasons of a page, in order."""
    return [int(number) for number in re.findall(r"number (\d+)<", get_text(response))]


def test_it_works(client, session):
    TurnFactory(session=session, id="s1:u4", turn_number=4, user_message_content="I moved to Oslo.")
    decide(
        1, turn_id="s1:u4", llm_model="gate-1", llm_latency_ms=1500, prompt_tokens=4000, completion_tokens=200,
        cost_usd=0.0021, candidate_fact="Lives in Oslo.", origin="imported", match="near",
    )  # fmt: skip
    page = client.get(ADA)
    words = ("1 decision of ada", "number 1", "Lives in Oslo.", "I moved to Oslo.", "The nightly import", "gate-1")
    for word in (*words, "1.5 s", "4.2k", "$0.0021", "Imported", "Near in time", "UPDATE_USER"):
        assert word in get_text(page)
    assert 'href="/agents/ada/gate/d1/"' in get_text(page) and 'href="/agents/ada/sessions/s1/?turn=4"' in get_text(
        page
    )


def test_what_is_not_known_is_not_nothing(client, session):
    decide(1, candidate_fact=None, decision="NO_WRITE")
    row = re.search(r"<tbody>.*</tbody>", get_text(client.get(ADA)), re.DOTALL)[0]
    assert "$0" not in row
    assert len(re.findall(r'<td class="num" data-label="(?:Latency|Tokens|Cost)">–</td>', row)) == 3


def test_a_key_is_asked_for_with_its_sessions_and_exactly(client, session):
    decide(1), decide(2, session_id=session.session_key)
    assert read_numbers(client.get(f"{ADA}?session=agent:ada:irc:group:%23lab")) == [2, 1]
    assert read_numbers(client.get(f"{ADA}?session=%3Dagent:ada:irc:group:%23lab")) == [2]


def test_a_session_that_is_not_stored_is_not_linked(client):
    decide(1, session_id="channel:irc:group:#lab")
    assert "channel:irc:group:#lab" in get_text(client.get(ADA))
    assert "../sessions/" not in get_text(client.get(ADA))


@pytest.fixture
def three(session):
    """Three decisions: the second differs in everything, the first lacks some facts."""
    SessionFactory(id="s2", session_key="agent:ada:main")
    others = {"session_id": "s1", "turn_id": "s1:u1", "llm_model": "gate-1", "prompt_version": "v1"}
    decide(1, turn_id="s1:u1")
    decide(
        2, session_id="s2", decision="NO_WRITE", candidate_fact="Lives in Oslo.", llm_model="gate-2",
        prompt_version="v2", origin="own", llm_latency_ms=5000, saw_user=False,
    )  # fmt: skip
    decide(3, **others, llm_latency_ms=4999, saw_user=True, origin="imported")


def test_a_key_that_several_sessions_had_finds_the_decisions_of_all(client, session):
    SessionFactory(id="s2", session_key=session.session_key)
    decide(1), decide(2, session_id="s2"), decide(3, session_id="s3")
    decide(4, session_id=session.session_key)  # made when there was no such session
    for spelling in (session.session_key, "channel:irc:group:#lab"):
        page = client.get(ADA, {"session": spelling})
        assert set(read_numbers(page)) >= {1, 2} and 3 not in read_numbers(page)
    assert read_numbers(client.get(ADA, {"session": session.session_key})) == [4, 2, 1]


def test_models_and_prompts_are_offered(client, three):
    page = get_text(client.get(ADA))
    assert '<option value="gate-1">' in page and '<option value="v2">' in page


def test_a_file_has_whole_reasons(client, session):
    decide(1, reason="long " * 200, prompt_tokens=7, saw_user=False)
    (row,) = json.loads(client.get(f"{ADA}?format=json").getvalue())
    assert (row["reason"], row["prompt_tokens"], row["saw_user"]) == ("long " * 200, 7, False)
    assert "raw_response" not in row and "place" not in row


def test_links_keep_the_filters_for_the_way_on(client, three):
    page = get_text(client.get(f"{ADA}?decision=NO_WRITE&slow=on"))
    assert 'href="/agents/ada/gate/d2/?decision=NO_WRITE&amp;slow=on"' in page
    assert "Slow (5 s or more)<span" in page and "Slow (5 s or more):" not in page
