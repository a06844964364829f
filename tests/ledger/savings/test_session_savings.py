"""The page of a session's savings: what keeping big outputs off the prompt would save."""

import re

import pytest

from tests.factories import SessionFactory
from tests.homes import assistant, result, user
from tests.ledger.list_pages import read_pages
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
SAVINGS = PAGE + "savings/"
API = "/api/v1/agents/ada/sessions/s1/savings"
LONG = "a line of a log\n" * 1_000
COMPACTION = {"type": "compaction", "summary": "s", "firstKeptEntryId": "r1"}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]


def prompted(prompt, text="x"):
    """An answer whose prompt had so many tokens, most of them from the cache."""
    record = assistant(text)
    record["message"]["usage"] = {"input": 10, "output": 5, "cacheRead": prompt - 10, "cacheWrite": 0}
    return record


def points(page):
    """Read the texts of the points of the chart."""
    return re.findall(r'<text class="chart__tip"[^>]*>([^<]*)<', page)


def test_it_works(client):
    store_session(
        user("go"),
        assistant("", ("c1", "exec", {})),
        result("c1", LONG),
        assistant("", ("c2", "exec", {})),
        result("c2", LONG),
        prompted(12_345),
        COMPACTION,
        user("more"),
        prompted(2_000),
    )
    page, answer = get_text(client.get(SAVINGS)), client.get(API).json()
    totals = answer["totals"]
    saved = totals["saved_chars"] // 2
    assert (totals["stashed_count"], answer["content_count"]) == (2, 1)
    # The first is read again by the second call and by the reply, the second by the reply; none after the compaction.
    assert totals["carried_chars"] == 3 * saved
    assert answer["prompt_tokens"] == 2 * 105 + 12_345 + 2_000
    assert answer["carried_percent"] == round(100 * totals["carried_tokens"] / answer["prompt_tokens"], 1)
    assert answer["prompts"]["turns"] == [
        {"turn_number": 1, "prompt_tokens": 12_345, "compactions": 1},
        {"turn_number": 2, "prompt_tokens": 2_000, "compactions": 0},
    ]
    assert points(page) == ["Turn 1 · 1 compaction · Prompt tokens 12,345", "Turn 2 · Prompt tokens 2,000"]
    assert page.count('class="chart__mark"') == 1
    assert f'href="{PAGE}?turn=2#t-2"' in page
    assert 'id="largest"' in page
    assert 'id="repeated"' in page
    assert "Too few turns for a band." in page


def test_the_middle_of_the_prompts_is_a_band(client):
    prompts = [1_000, 50_000, 52_000, 51_000, 53_000, 54_000, 55_000, 56_000, 57_000, 900_000]
    store_session(*(record for prompt in prompts for record in (user("go"), prompted(prompt))))
    page = get_text(client.get(SAVINGS))
    assert "Middle 80% of prompts (10 turns): 1,000 to 57,000 tokens, a factor of 57.0" in page
    assert page.count('class="chart__band"') == 1


def test_pages_of_turns_follow_each_other(client):
    store_session(*working_turns(120), COMPACTION, *working_turns(100), COMPACTION)
    turns = re.compile(rf'href="{PAGE}\?turn=\d+#t-(\d+)"')
    parts = read_pages(client, SAVINGS, lambda response: [get_text(response)])
    assert [int(number) for part in parts[::-1] for number in turns.findall(part)] == list(range(1, 221))
    assert sum(part.count('class="chart__mark"') for part in parts) == 2
    first = client.get(API).json()["prompts"]
    assert client.get(API, {"after": first["next"]}).json()["prompts"]["turns"][-1]["turn_number"] == 160


@pytest.mark.parametrize("cursor", ["xyz", "~", "a" * 2_000])
def test_a_cursor_of_another_list_is_refused(client, cursor):
    store_session(*working_turns(1))
    assert client.get(SAVINGS, {"after": cursor}).status_code == 409
    assert client.get(API, {"after": cursor}).status_code in (409, 422)


def test_a_turn_without_a_known_prompt_is_a_gap(client):
    store_session(user("one"), prompted(500), user("two"), user("three"), prompted(600))
    assert points(get_text(client.get(SAVINGS))) == [
        "Turn 1 · Prompt tokens 500",
        "Turn 2 · Prompt tokens –",
        "Turn 3 · Prompt tokens 600",
    ]


class TestStates:
    def test_a_session_without_anything_says_so(self, client):
        SessionFactory(id="s1")
        page = get_text(client.get(SAVINGS))
        assert "No tool calls" in page
        assert "No model calls in these turns" in page

    def test_without_big_outputs_it_says_why_nothing_is_stashed(self, client):
        store_session(*working_turns(2))
        assert "No outputs are stored as artifacts yet:" in get_text(client.get(SAVINGS))

    def test_it_is_a_tab_of_the_session(self, client):
        store_session(*working_turns(1))
        assert f'<a href="{SAVINGS}">Avoidable tokens</a>' in get_text(client.get(PAGE))
        assert f'<a href="{SAVINGS}" aria-current="page">Avoidable tokens</a>' in get_text(client.get(SAVINGS))
