"""Everybody has their own keys on the review page."""

import pytest

from datasets.review import forms
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db


def save(client, **chosen):
    return client.post("/review/keys/save/", {**forms.DEFAULTS, **chosen}, follow=True)


def test_it_works(as_reviewer, ada):
    SampleFactory()
    assert as_reviewer.get("/review/keys/").status_code == 200
    assert "Your keys are saved." in save(as_reviewer, approve="1", gate_correct="x", edit="ü").text
    page = as_reviewer.get("/review/").text
    assert 'value="approved" data-key="1"' in page
    assert 'data-key="ü"' in page
    assert "<kbd>1</kbd> <kbd>r</kbd> <kbd>n</kbd>" in page
    assert 'data-key="a"' not in page
    assert forms.read_keys("somebody else") == forms.DEFAULTS


def test_two_actions_may_swap_their_keys(as_reviewer):
    save(as_reviewer, approve="r", reject="a")
    assert (forms.read_keys("reviewer")["approve"], forms.read_keys("reviewer")["reject"]) == ("r", "a")


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ({"approve": "r"}, "“Approve” and “Reject” use the same key r."),
        ({"approve": ""}, "“Approve” needs a single character"),
        ({"approve": "ab"}, "“Approve” needs a single character"),
        ({"approve": " "}, "“Approve” needs a single character"),
        ({"approve": "?"}, "The key ? shows the list of keys."),
    ],
)
def test_what_cannot_work_is_refused(as_reviewer, chosen, why):
    answer = save(as_reviewer, **chosen)
    assert answer.status_code == 422
    assert why in answer.text
    assert forms.read_keys("reviewer") == forms.DEFAULTS


def test_back_to_the_beginning(as_reviewer):
    save(as_reviewer, approve="x")
    as_reviewer.post("/review/keys/reset/")
    assert forms.read_keys("reviewer") == forms.DEFAULTS


def test_a_key_can_be_any_character_and_does_nothing_else(as_reviewer, ada):
    SampleFactory()
    save(as_reviewer, approve='"', reject="<")
    page = as_reviewer.get("/review/").text
    assert 'data-key="&#34;"' in page
    assert 'data-key="&lt;"' in page
