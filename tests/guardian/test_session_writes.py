"""Writes beside the turns of a session."""

import re
from html import unescape

import pytest

from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text, store_session, working_turns

DB, PART = "agent_ada", "/agents/ada/sessions/s1/writes/of/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(ada):
    """The ids of the turns of a session."""
    return dict(store_session(*working_turns(3)).turns.values_list("turn_number", "id"))


def read_links(page):
    """Return each place with the addresses that it leads to."""
    _before, *parts = re.split(r'<span id="(writes-of-\d+)"', get_text(page))
    return [(place, re.findall(r'href="([^"]+)"', links)) for place, links in zip(parts[::2], parts[1::2], strict=True)]


def test_a_turn_leads_to_its_write(as_stranger, turns):
    create_write(DB, 1, None, b"a\n", turn_id=turns[2])
    page = as_stranger.get("/agents/ada/sessions/s1/").text
    (address,) = re.findall(r'hx-get="(/agents/ada/sessions/s1/writes/of/[^"]*)"', page)
    assert 'href="/agents/ada/writes/?session=s1"' in page  # without JavaScript
    answer = as_stranger.get(unescape(address))
    assert read_links(answer) == [("writes-of-2", ["/agents/ada/writes/w1/", "/agents/ada/files/MEMORY.md/#L1"])]
    assert "1 line in the file" in get_text(answer)
    assert "Written, MEMORY.md" in get_text(answer)
    assert all(page.count(f'id="writes-of-{number}"') == 1 for number in turns)


def test_each_of_several_is_there_with_the_lines_it_left(as_stranger, turns):
    create_write(DB, 1, None, b"a\n", turn_id=turns[1]), create_write(DB, 2, b"a\n", b"b\nc\n", turn_id=turns[1])
    ((_place, links),) = read_links(as_stranger.get(f"{PART}?turn=1"))
    assert [link.rpartition("/")[0] for link in links] == [
        "/agents/ada/writes/w1",
        "/agents/ada/writes/w2",
        "/agents/ada/files/MEMORY.md",
    ]
    assert "2 lines in the file" in get_text(as_stranger.get(f"{PART}?turn=1"))
    for query in ("?turn=2", "", "?turn=x&turn=-1&turn=99999999999999"):
        assert read_links(as_stranger.get(PART + query)) == []


def test_an_operator_can_roll_the_session_back_from_its_page(as_stranger, as_operator, turns):
    way = 'href="/agents/ada/writes/session/of/s1/"'
    create_write(DB, 1, None, b"a\n", turn_id=turns[1], session_id="s1", status="refused")
    assert way not in get_text(as_operator.get(f"{PART}?turn=1")), "nothing changed a file"
    create_write(DB, 2, None, b"a\n", turn_id=turns[1], session_id="s1")
    assert get_text(as_operator.get("/agents/ada/sessions/s1/")).count('id="session-rollback"') == 1
    answer = get_text(as_operator.get(f"{PART}?turn=1"))
    assert 'id="session-rollback"' in answer and 'hx-swap-oob="true"' in answer and way in answer
    assert way in get_text(as_operator.get("/agents/ada/writes/?session=s1")), "without JavaScript"
    assert way not in get_text(as_operator.get("/agents/ada/writes/"))
    for page in (f"{PART}?turn=1", "/agents/ada/writes/?session=s1"):
        assert way not in get_text(as_stranger.get(page))


def test_of_many_a_few_are_there_those_that_changed_something_first(as_stranger, turns):
    for number in range(5):
        create_write(DB, number, None, b"%d" % number, turn_id=turns[1], status="written" if number == 4 else "refused")
    ((_place, links),) = read_links(as_stranger.get(f"{PART}?turn=1"))
    names = [link for link in links if "/files/" not in link]
    assert names[0] == "/agents/ada/writes/w4/" and len(names) == 4
    assert "5 writes" in get_text(as_stranger.get(unescape(names[3])))
