"""Signing in with a password, and out again."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from people.models import SignIn
from tests.people.sign_in_steps import SIGN_IN, TOKENS, find_way_back, sign_in
from tests.people.site_surface import page_address
from tests.whole.pages import ANYBODY, POSTS, TABLE

pytestmark = pytest.mark.django_db


def test_it_works(client, stranger):
    assert b"Sign in" in client.get(SIGN_IN).content
    response = sign_in(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get(TOKENS).status_code == 200


def test_everything_else_sends_people_here_and_back(client, stranger):
    response = client.get(TOKENS)
    assert response["Location"] == f"{SIGN_IN}?next={TOKENS}"
    assert sign_in(client, next=TOKENS)["Location"] == TOKENS


HTMX = {"HX-Request": "true"}
SAVE = "/operations/settings/save/"
SETTINGS = "/operations/settings/"


@pytest.mark.parametrize(
    ("headers", "back"),
    [
        ({"Referer": f"http://testserver{SETTINGS}?group=Review"}, f"{SETTINGS}?group=Review"),
        ({**HTMX, "HX-Current-URL": f"http://testserver{SETTINGS}", "Referer": "http://testserver/jobs/"}, SETTINGS),
        ({"Referer": f"https://elsewhere.example{TOKENS}"}, SETTINGS),
        ({**HTMX, "HX-Current-URL": f"https://elsewhere.example{TOKENS}"}, SETTINGS),
        ({"Referer": f"http://testserver{SAVE}"}, SETTINGS),  # the page that showed an invalid form
        ({}, SETTINGS),
    ],
)
def test_a_form_that_was_sent_signed_out_leads_back_to_its_page(client, stranger, headers, back):
    answer = client.post(SAVE, {}, headers=headers)
    is_htmx = "HX-Request" in headers
    assert answer.status_code == (200 if is_htmx else 302)
    address = answer["HX-Redirect" if is_htmx else "Location"]
    page = client.get(address)
    assert f'name="next" value="{back}"' in page.content.decode()
    assert sign_in(client, next=back)["Location"] == back
    assert client.get(back).status_code == 403  # a viewer, and no 405


def test_every_form_leads_back_to_a_page(as_admin, ada):
    for name in [route for route in POSTS if TABLE[route].role != ANYBODY]:
        back = find_way_back(Client().post(page_address(name)))
        assert as_admin.get(back).status_code != 405, name


def test_an_address_that_only_takes_forms_leads_to_a_page(client, stranger):
    assert sign_in(client, next="/review/label/")["Location"] == "/review/"
    assert client.get(f"{SIGN_IN}?next=/sign-out/")["Location"] == "/"


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"])
def test_nobody_is_sent_off_the_site(client, stranger, target):
    assert sign_in(client, next=target)["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_name(client, stranger):
    response = sign_in(client, password="wrong")
    assert response.status_code == 422
    assert "Wrong user name or password" in response.content.decode()
    assert 'value="stranger"' in response.content.decode()


def test_the_session_changes_its_key(client, stranger):
    client.get(SIGN_IN)
    session = client.session
    session["before"] = True
    session.save()
    old = session.session_key
    client.cookies["openclaw_web_session"] = old
    sign_in(client)
    assert client.session.session_key != old
    assert not Session.objects.filter(session_key=old).exists()


def test_signing_out_takes_a_post(client, stranger):
    sign_in(client)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == SIGN_IN
    assert client.get(TOKENS).status_code == 302
    row = SignIn.objects.get()
    assert (row.ended_because, row.session_key) == ("signed_out", None)


def test_without_users_it_says_how_to_make_one(client):
    assert "openclaw-web create_user" in client.get(SIGN_IN).content.decode()


def test_a_form_without_its_token_is_refused_with_a_page(stranger):
    response = sign_in(Client(enforce_csrf_checks=True))
    assert response.status_code == 403
    assert "no longer valid" in response.content.decode()
