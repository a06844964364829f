"""The page of users: added, changed, signed out, and their one-time links."""

import pytest
from django.test import Client
from django.urls import reverse

from people.accounts import tokens
from people.models import SignIn, User
from tests.conftest import ROLES
from tests.factories import UserFactory
from tests.people.sign_in_steps import TOKENS, USERS, ask_with_token, find_link, sign_in

pytestmark = pytest.mark.django_db


def test_it_works(as_admin, stranger):
    page = as_admin.get(USERS).content.decode()
    assert "root" in page
    assert "stranger" in page


def test_adding_one_gives_a_link_to_hand_over(as_admin):
    response = as_admin.post(f"{USERS}add/", {"username": "lena", "role": "labeller"})
    assert "no-store" in response["Cache-Control"]
    browser = Client()
    assert browser.post(find_link(response)).status_code == 302
    assert User.objects.get(username="lena").role == "labeller"


@pytest.mark.parametrize("name", ["root", "ROOT", "", "a b", "..", "x" * 151])
def test_a_name_that_cannot_be_is_refused_at_the_form(as_admin, name):
    response = as_admin.post(f"{USERS}add/", {"username": name, "role": "viewer"})
    assert response.status_code == 422
    assert User.objects.count() == 1


def test_a_role_that_does_not_exist_is_refused(as_admin, stranger):
    assert as_admin.post(f"{USERS}add/", {"username": "lena", "role": "owner"}).status_code == 422
    assert as_admin.post(f"{USERS}stranger/role/", {"role": "owner"}).status_code == 400


def test_changing_a_role(as_admin, stranger):
    response = as_admin.post(f"{USERS}stranger/role/", {"role": "operator"}, follow=True)
    assert "The role of stranger is now Operator." in response.content.decode()
    stranger.refresh_from_db()
    assert stranger.role == "operator"


def test_deactivating_ends_sessions_tokens_and_links(as_admin, stranger):
    browser = Client()
    sign_in(browser)
    _, token = tokens.make_token(stranger, name="x", role="viewer")
    as_admin.post(f"{USERS}stranger/deactivate/")
    assert SignIn.objects.get().ended_because == "deactivated"
    assert browser.get(TOKENS).status_code == 302
    assert ask_with_token(token).status_code == 401
    response = as_admin.post(f"{USERS}stranger/link/", follow=True)
    assert "Activate the account first" in response.text
    as_admin.post(f"{USERS}stranger/activate/")
    assert ask_with_token(token).status_code == 200
    assert browser.get(TOKENS).status_code == 302
    assert Client().get(find_link(as_admin.post(f"{USERS}stranger/link/"))).status_code == 200


@pytest.mark.parametrize("act", ["role", "deactivate"])
def test_the_last_active_admin_stays(as_admin, admin, act):
    UserFactory(username="gone", role="admin", is_active=False)
    response = as_admin.post(f"{USERS}root/{act}/", {"role": "viewer"}, follow=True)
    assert "last active admin" in response.content.decode()
    admin.refresh_from_db()
    assert admin.has_role("admin")


def test_one_of_two_admins_may_go(as_admin, admin):
    UserFactory(username="second", role="admin")
    as_admin.post(f"{USERS}root/role/", {"role": "viewer"})
    assert as_admin.get(USERS).status_code == 403


def test_nobody_by_that_name(as_admin):
    assert as_admin.post(f"{USERS}nobody/role/", {"role": "viewer"}).status_code == 404


@pytest.mark.parametrize("role", ROLES)
def test_a_role_holds_the_ones_below_it(role, db):
    user = UserFactory(role=role)
    roles = [name for name in ROLES if user.has_role(name)]
    assert roles == list(ROLES[: ROLES.index(role) + 1])


def test_answers_are_private_to_the_browser(as_admin):
    assert as_admin.get(reverse("people:user_list"))["Cache-Control"] == "private, no-cache"


def test_each_button_of_a_person_says_whom_it_is_about(as_admin):
    UserFactory(username="mei")
    page = as_admin.get(USERS).text
    for says in ("Create a one-time link for mei", "Sign out mei everywhere", "Deactivate mei"):
        assert f'aria-label="{says}"' in page
