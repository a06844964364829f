"""The page of a value: its places, who may see it, and where its links lead."""

import re

import pytest
from django.urls import reverse

from datasets.models import FindingValue
from ledger.models import TranscriptEvent
from tests.datasets.finding_values.finding_rows import KEY, KEY_HASH, MAIL, MAIL_HASH, find
from tests.datasets.page_text import read_text

pytestmark = pytest.mark.django_db
DETAIL = reverse("datasets:finding_detail", args=[MAIL_HASH])
DISMISS = {"verdict": "dismissed", "scope": "value"}


def test_it_marks_the_value_in_the_places_of_one_agent(as_reviewer, stored):
    page = as_reviewer.get(DETAIL).text
    assert f"Write to <mark>{MAIL}</mark> &lt;b&gt;today" in page
    assert f"Mail <mark>{MAIL}</mark>" not in page  # of the other agent
    assert f"Mail <mark>{MAIL}</mark>" in as_reviewer.get(f"{DETAIL}?agent=bob").text


def test_it_says_what_was_found(as_reviewer, stored):
    words = read_text(as_reviewer.get(DETAIL))
    assert f"Email address {MAIL}" in words and "2 places" in words
    assert "Kind Email address Rule email_rule Confidence 90%" in words and "Agents ada (1), bob (1)" in words
    assert "No verdicts yet." in words


def test_a_key_is_masked(as_reviewer, stored):
    page = as_reviewer.get(reverse("datasets:finding_detail", args=[KEY_HASH])).text
    assert KEY not in page and f"The key is <mark>{KEY[:4]}" in page


def test_viewers_see_places_and_no_value(as_stranger, stored):
    page = as_stranger.get(DETAIL).text
    assert MAIL not in page and "<mark>" not in page and "Write to" not in page
    assert "Message or tool result" in page and "turn 1" in page
    assert "Your verdict" not in page and "Dismiss this place" not in page


def test_each_place_leads_to_its_turn_and_the_rule_to_its_values(as_reviewer, stored):
    page = as_reviewer.get(DETAIL).text
    turn = reverse("ledger:session_detail", args=["ada", "s"]) + "?turn=1"
    assert f'href="{turn}#t-1"' in page and "today" in as_reviewer.get(turn).text
    rules = re.search(r'href="([^"]+\?rule=[^"]+)"', page)[1]
    values = as_reviewer.get(rules).text
    assert f"text-of-{MAIL_HASH}" in values and f"text-of-{KEY_HASH}" not in values


@pytest.mark.parametrize("agent", ["nobody", "../ada", "a" * 300])
def test_an_agent_that_does_not_hold_the_value_is_not_found(as_reviewer, stored, agent):
    assert as_reviewer.get(DETAIL, {"agent": agent}).status_code == 404


def test_an_agent_without_the_key_is_not_found(as_reviewer, stored):
    address = reverse("datasets:finding_detail", args=[KEY_HASH])
    assert as_reviewer.get(address, {"agent": "bob"}).status_code == 404


def test_an_unknown_value_is_not_found(as_reviewer, ada):
    assert as_reviewer.get(reverse("datasets:finding_detail", args=["x"])).status_code == 404
    assert as_reviewer.post(reverse("datasets:finding_judge", args=["x"]), DISMISS).status_code == 404


def test_a_cursor_that_the_page_did_not_give_out_is_refused(as_reviewer, stored):
    assert as_reviewer.get(DETAIL, {"after": "nonsense"}).status_code == 409


def test_a_changed_text_is_said(as_reviewer, ada, stored):
    TranscriptEvent.objects.using(ada.db).filter(session_id="s", seq=1).update(event_json="{}")
    page = as_reviewer.get(DETAIL).text
    assert "has changed since it was scanned" in page and MAIL not in page


def test_a_value_without_readable_places_says_so(as_reviewer, ada):
    FindingValue.objects.create(value_hash="lost", kind="email", rule="email_rule", confidence=1, first_found_at=1)
    page = as_reviewer.get(reverse("datasets:finding_detail", args=["lost"])).text
    assert "No place can be read" in page


def test_places_continue_on_a_next_page_of_the_same_agent(as_reviewer, ada, bob):
    for number in range(1, 13):
        find(bob, "t", number, f"Number {number} to {MAIL}", MAIL)
    find(ada, "s", 1, f"Mail {MAIL}", MAIL)
    page = as_reviewer.get(f"{DETAIL}?agent=bob").text
    assert page.count("<mark>") == 10
    rest = as_reviewer.get(DETAIL + re.search(r'href="([^"]+)" rel="next"', page)[1].replace("&amp;", "&")).text
    assert rest.count("<mark>") == 2 and f"Number 12 to <mark>{MAIL}" in rest
