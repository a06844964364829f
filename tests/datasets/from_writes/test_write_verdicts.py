"""What people said of the writes of a list, in its rows."""

import pytest

from datasets.kinds import judging
from datasets.kinds.write import WRITE
from tests.datasets.conversations import tell_turns
from tests.guardian.written import wrote

pytestmark = pytest.mark.django_db
URL = "/agents/ada/write-verdicts/"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def writes(ada):
    tell_turns(3)
    for number in (1, 2, 3):
        wrote("agent_ada", number, None, b"x%d" % number, turn_id=f"s1:u{number}")
    judging.say(WRITE, ada, "w1", "right", by="ann")


def test_each_row_has_its_verdict(as_reviewer):
    page = as_reviewer.get(URL, {"ids": ["w1", "w2", "gone"]}).text
    assert page.count('hx-swap-oob="true"') == 2
    assert page.count('value="right"') == 1 and page.count('value="wrong"') == 2


def test_a_rollback_has_no_buttons(as_reviewer):
    """Its fact is that of the write which it took back: "right" would teach to write it and take it out."""
    wrote("agent_ada", 4, b"x4", b"", turn_id="s1:u1", origin="rollback")
    assert "<form" not in as_reviewer.get(URL, {"ids": ["w4"]}).text
    page = as_reviewer.get("/agents/ada/write-verdicts/w4/", headers=HTMX).text
    assert "A rollback cannot become a sample." in page and 'value="right"' not in page


def test_viewers_have_no_buttons(as_stranger):
    page = as_stranger.get(URL, {"ids": ["w1"]}).text
    assert "Right" in page and "<form" not in page


def test_a_row_is_judged_in_its_place(as_reviewer):
    sent = {"verdict": "wrong", "place": "row", "expected": ""}
    page = as_reviewer.post("/agents/ada/judge-write/w2/", sent, headers=HTMX).text
    assert "Wrong" in page and "verdict-of-" in page


def test_many_rows_ask_as_often(as_reviewer, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        as_reviewer.get(URL, {"ids": [f"w{number}" for number in range(90)]})


def test_the_last_verdict_is_undone_from_the_list(as_reviewer, ada):
    sent = {"verdict": "wrong", "place": "row", "expected": judging.say(WRITE, ada, "w1", "right", by="ann").label_id}
    page = as_reviewer.post("/agents/ada/judge-write/w1/", sent, headers=HTMX).text
    assert "Your last verdict:" in page and 'data-key="u"' in page and "Likes tea." in page
    expected = page.partition("notice last-verdict")[2].partition('name="expected" value="')[2].partition('"')[0]
    sent = {"verdict": "undo", "place": "row", "expected": expected}
    page = as_reviewer.post("/agents/ada/judge-write/w1/", sent, headers=HTMX).text
    assert "Undone: “Needs review”" in page and 'data-key="u"' not in page
    assert page.count('value="wrong"') == 1 and page.count('value="right"') == 0  # the verdict of before
