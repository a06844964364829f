"""The list of an agent's records."""

import re

import orjson
import pytest

from tests.factories import T0, EventFactory, SessionFactory
from tests.ledger.transcript_records import get_text

ADA = "/agents/ada/events/"
pytestmark = pytest.mark.django_db


def make_message(text, role="user"):
    return orjson.dumps(
        {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}
    ).decode()


def record(session, seq, **columns):
    columns = {"created_at": T0 + seq, "kind": "user", "event_json": make_message(f"number {seq}")} | columns
    EventFactory(session=session, seq=seq, event_id=f"r/{seq}", **columns)


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1", title="The nightly import")


def read_numbers(response):
    """Read the numbers in the texts of a page, in order."""
    return [int(number) for number in re.findall(r"number (\d+)<", get_text(response))]


def test_it_works(client, session):
    record(session, 1, turn_number=3)
    record(
        session,
        2,
        kind="tool_result",
        tool_name="exec",
        is_failed=True,
        event_json=make_message("number 2", "toolResult"),
    )
    page = client.get(ADA)
    assert read_numbers(page) == [2, 1]
    for words in ("2 records of ada", "The nightly import", "exec", "Tool result", "Failed"):
        assert words in get_text(page)
    assert 'href="/agents/ada/sessions/s1/?record=r%2F2#r-r%2F2"' in get_text(page)


def test_it_says_what_words_are_looked_for_in(client, session):
    record(session, 1)
    page = get_text(client.get(ADA))
    assert re.search(r'<input type="search" name="q"[^>]* aria-describedby="id_q_help">', page)
    assert re.search(r'<p class="[^"]*" id="id_q_help">[^<]*Finds whole words', page)


def test_quotation_marks_of_the_format_are_no_words(client, session):
    record(session, 2)
    assert read_numbers(client.get(f"{ADA}?q=NUMBER+2")) == [2]
    assert read_numbers(client.get(f'{ADA}?q="text":"number+2"')) == []
