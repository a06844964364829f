"""The button at the foot of the rail: only icons, or labels again."""

import pytest

pytestmark = pytest.mark.django_db
FOLD = "/rail/"


def is_slim(client, address="/"):
    return 'class="rail rail--slim"' in client.get(address).text


def test_it_is_remembered_without_scripts(as_reviewer):
    assert not is_slim(as_reviewer)
    answer = as_reviewer.post(FOLD, {"rail": "slim", "next": "/samples/?status=approved"})
    assert (answer.status_code, answer["Location"]) == (302, "/samples/?status=approved")
    cookie = answer.cookies["openclaw_web_rail"]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 31_536_000)
    assert is_slim(as_reviewer) and is_slim(as_reviewer, "/agents/")
    as_reviewer.post(FOLD, {"rail": "wide"})
    assert not is_slim(as_reviewer)


def test_with_htmx_the_page_stays(as_reviewer):
    answer = as_reviewer.post(FOLD, {"rail": "slim", "next": "/samples/?a=b"}, headers={"HX-Request": "true"})
    text = answer.text
    assert "<html" not in text and 'class="rail rail--slim"' in text and "Show labels" in text
    assert '<a href="/review/" title="Training" aria-current="true">' in text
    assert '<input type="hidden" name="next" value="/samples/?a=b">' in text


def test_labels_are_there_for_those_who_do_not_see_them(as_reviewer):
    as_reviewer.post(FOLD, {"rail": "slim"})
    text = as_reviewer.get("/").text
    assert "<span>Training</span>" in text and 'title="Training"' in text and "<span>Show labels</span>" in text


def test_what_is_sent_cannot_lead_away_or_set_something_else(as_reviewer):
    answer = as_reviewer.post(FOLD, {"rail": "<b>", "next": "https://elsewhere.example/"})
    assert answer["Location"] == "/" and answer.cookies["openclaw_web_rail"].value == "wide"


def test_a_form_that_came_back_leads_to_a_page_that_can_be_opened(as_admin):
    text = as_admin.post("/operations/users/add/", {"username": ""}).text
    assert '<input type="hidden" name="next" value="/operations/">' in text
