"""The values of a list, read from their places for people who may see them."""

import pytest
from django.urls import reverse

from findings.value_hash import compute_value_hash
from ledger.models import TranscriptEvent
from tests.datasets.finding_values.finding_rows import KEY, KEY_HASH, MAIL, MAIL_HASH, find

pytestmark = pytest.mark.django_db
TEXTS = reverse("datasets:finding_texts")


def read_texts(browser, *hashes):
    answer = browser.get(TEXTS, {"ids": hashes})
    assert answer.status_code == 200, answer.text
    return answer.text


def change_text(agent, session):
    TranscriptEvent.objects.using(agent.db).filter(session_id=session).update(event_json="{}")


def test_values_are_read_from_their_places_and_keys_are_masked(as_reviewer, stored):
    page = read_texts(as_reviewer, MAIL_HASH, KEY_HASH, "nonsense")
    assert f'id="text-of-{MAIL_HASH}" hx-swap-oob="true">{MAIL}</span>' in page
    assert KEY not in page and f'id="text-of-{KEY_HASH}" hx-swap-oob="true">{KEY[:4]}' in page
    assert page.count("hx-swap-oob") == 2 and "<html" not in page


def test_a_value_that_was_asked_for_twice_comes_once(as_reviewer, stored):
    assert read_texts(as_reviewer, MAIL_HASH, MAIL_HASH).count("hx-swap-oob") == 1


def test_a_value_is_text_and_no_markup(as_reviewer, ada):
    find(ada, "s", 1, "Call <img src=x> now", "<img src=x>", "custom")
    page = read_texts(as_reviewer, compute_value_hash("custom", "<img src=x>"))
    assert "<img" not in page and "&lt;img src=x&gt;" in page


def test_a_changed_text_is_read_elsewhere_and_said_when_it_is_nowhere(as_reviewer, ada, bob, stored):
    change_text(ada, "s")
    assert MAIL in read_texts(as_reviewer, MAIL_HASH)  # from the other agent
    change_text(bob, "t")
    page = read_texts(as_reviewer, MAIL_HASH)
    assert MAIL not in page and "has changed since it was scanned" in page


def test_without_values_it_is_empty(as_reviewer, ada):
    assert read_texts(as_reviewer).strip() == read_texts(as_reviewer, "nonsense").strip() == ""


def test_at_most_two_hundred_values_are_read(as_reviewer, stored):
    many = [f"{number:064x}" for number in range(200)]
    assert read_texts(as_reviewer, *many, MAIL_HASH).strip() == ""
    assert MAIL in read_texts(as_reviewer, *many[:199], MAIL_HASH)


def test_only_people_who_label_read_them(as_stranger, stored):
    answer = as_stranger.get(TEXTS, {"ids": [MAIL_HASH]})
    assert answer.status_code == 403 and MAIL not in answer.text
