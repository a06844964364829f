"""Signing in, one-time links, users, tokens, and the commands about them."""

import io
import re

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from openclaw_web.errors import Refused
from operations import accounts
from operations.models import ApiToken, OneTimeLink, User
from tests.conftest import ROLES
from tests.factories import UserFactory

PASSWORD = "correct horse battery"
SIGN_IN = "/sign-in/"
USERS = "/operations/users/"
TOKENS = "/operations/tokens/"
pytestmark = pytest.mark.django_db


def sign_in(client, **data):
    return client.post(SIGN_IN, {"username": "stranger", "password": PASSWORD, **data})


def link_in(response):
    return re.search(r"/welcome/[\w-]+/", response.content.decode())[0]


def token_in(response):
    return re.search(r"oc_[0-9a-f]{8}_[\w-]+", response.content.decode())[0]


def ask(token):
    return Client().get("/api/v1/agents", headers={"Authorization": f"Bearer {token}"})


class TestSignIn:
    def test_it_works(self, client, stranger):
        assert b"Sign in" in client.get(SIGN_IN).content
        response = sign_in(client)
        assert (response.status_code, response["Location"]) == (302, "/")
        assert client.get(TOKENS).status_code == 200

    def test_everything_else_sends_people_here_and_back(self, client, stranger):
        response = client.get(TOKENS)
        assert response["Location"] == f"{SIGN_IN}?next={TOKENS}"
        assert sign_in(client, next=TOKENS)["Location"] == TOKENS

    @pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"])
    def test_nobody_is_sent_off_the_site(self, client, stranger, target):
        assert sign_in(client, next=target)["Location"] == "/"

    def test_a_wrong_password_says_so_and_keeps_the_name(self, client, stranger):
        response = sign_in(client, password="wrong")
        assert response.status_code == 422
        assert "do not belong together" in response.content.decode()
        assert 'value="stranger"' in response.content.decode()

    def test_the_fifth_wrong_password_locks_that_name_out(self, client, stranger, reviewer):
        answers = [sign_in(client, password="wrong").status_code for _ in range(5)]
        assert answers == [422, 422, 422, 422, 429]
        response = sign_in(client)
        assert response.status_code == 429
        assert "Too many wrong passwords" in response.content.decode()
        assert sign_in(client, username="reviewer").status_code == 302

    def test_a_deactivated_person_stays_outside(self, client, stranger):
        accounts.deactivate(stranger, by="root")
        assert sign_in(client).status_code == 422

    def test_the_session_changes_its_key(self, client, stranger):
        client.get(SIGN_IN)
        session = client.session
        session["before"] = True
        session.save()
        old = session.session_key
        client.cookies["openclaw_web_session"] = old
        sign_in(client)
        assert client.session.session_key != old
        assert not Session.objects.filter(session_key=old).exists()

    def test_signing_out_takes_a_post(self, client, stranger):
        sign_in(client)
        assert client.get("/sign-out/").status_code == 405
        assert client.post("/sign-out/")["Location"] == SIGN_IN
        assert client.get(TOKENS).status_code == 302

    def test_without_users_it_says_how_to_make_one(self, client):
        assert "openclaw-web create_user" in client.get(SIGN_IN).content.decode()

    def test_a_form_without_its_token_is_refused_with_a_page(self, stranger):
        response = sign_in(Client(enforce_csrf_checks=True))
        assert response.status_code == 403
        assert "no longer valid" in response.content.decode()


class TestFirstAdmin:
    DATA = {"username": "root", "password": PASSWORD, "again": PASSWORD}

    def test_it_works(self, client):
        path = accounts.make_first_admin_link()
        assert "first admin" in client.get(path).content.decode()
        assert client.post(path, self.DATA)["Location"] == "/"
        assert User.objects.get().role == "admin"
        assert client.get(USERS).status_code == 200

    def test_it_is_offered_only_while_there_is_no_admin(self, admin):
        with pytest.raises(Refused, match="There is an admin already"):
            accounts.make_first_admin_link()

    def test_somebody_who_is_no_admin_may_be_added_first(self, client):
        path = accounts.make_first_admin_link()
        told = io.StringIO()
        call_command("create_user", "mei", stdout=io.StringIO(), stderr=told)
        assert "There is no admin yet." in told.getvalue()
        assert client.get(path).status_code == 200
        assert client.post(path, self.DATA)["Location"] == "/"
        assert User.objects.get(role="admin").username == "root"

    def test_a_link_made_before_dies_with_the_first_admin_and_says_so(self, client):
        path = accounts.make_first_admin_link()
        UserFactory(username="other", role="admin")
        answer = client.get(path)
        assert answer.status_code == 409 and "There is an admin by now" in answer.content.decode()
        assert client.post(path, self.DATA).status_code == 409
        assert not User.objects.filter(username="root").exists()

    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"password": "short", "again": "short"}, "too short"),
            ({"password": "password12", "again": "password12"}, "too common"),
            ({"password": "4711471147114711", "again": "4711471147114711"}, "entirely numeric"),
            ({"again": "something else"}, "differ"),
        ],
    )
    def test_a_weak_password_is_refused_and_the_link_stays(self, client, changed, sentence):
        path = accounts.make_first_admin_link()
        response = client.post(path, self.DATA | changed)
        assert response.status_code == 422
        assert sentence in response.content.decode()
        assert client.post(path, self.DATA).status_code == 302

    @pytest.mark.parametrize("name", ["..", "a b", "a/b", "<b>"])
    def test_a_name_that_no_address_can_hold_is_refused_and_the_link_stays(self, client, name):
        path = accounts.make_first_admin_link()
        assert client.post(path, self.DATA | {"username": name}).status_code == 422
        assert not User.objects.exists()
        assert client.get(path).status_code == 200


class TestOneTimeLink:
    def test_it_works(self, client, stranger):
        path = accounts.make_sign_in_link(stranger)
        assert "Welcome, stranger" in client.get(path).content.decode()
        assert client.post(path)["Location"] == "/"
        assert client.get(TOKENS).status_code == 200

    def test_looking_at_it_does_not_use_it_up(self, client, stranger):
        path = accounts.make_sign_in_link(stranger)
        for _ in range(3):
            assert client.get(path).status_code == client.head(path).status_code == 200
        assert client.post(path).status_code == 302

    def test_it_works_once(self, stranger):
        path = accounts.make_sign_in_link(stranger)
        assert Client().post(path).status_code == 302
        response = Client().post(path)
        assert response.status_code == 409
        assert "has been used or is out of date" in response.content.decode()
        assert Client().get(path).status_code == 409

    def test_it_lives_for_a_day(self, client, stranger, later):
        path = accounts.make_sign_in_link(stranger)
        later(hours=23.9)
        assert client.get(path).status_code == 200
        later(hours=24.1)
        assert client.get(path).status_code == client.post(path).status_code == 409

    def test_it_can_set_a_password(self, client, stranger):
        path = accounts.make_sign_in_link(stranger)
        assert client.post(path, {"password": "short", "again": "short"}).status_code == 422
        assert client.post(path, {"password": "another good one", "again": "another good one"}).status_code == 302
        assert sign_in(Client(), password="another good one").status_code == 302
        assert sign_in(Client()).status_code == 422

    def test_it_dies_with_its_person(self, client, stranger):
        path = accounts.make_sign_in_link(stranger)
        accounts.deactivate(stranger, by="root")
        assert client.post(path).status_code == 409

    def test_only_a_hash_is_kept(self, stranger):
        secret = accounts.make_sign_in_link(stranger).split("/")[2]
        assert secret not in str(OneTimeLink.objects.values())

    def test_no_cache_keeps_the_page(self, client, stranger):
        assert "no-store" in client.get(accounts.make_sign_in_link(stranger))["Cache-Control"]

    @pytest.mark.parametrize("secret", ["x", "%00", "é" * 40])
    def test_a_made_up_one_is_refused(self, client, secret):
        assert client.get(f"/welcome/{secret}/").status_code == 409


class TestUsers:
    def test_it_works(self, as_admin, stranger):
        page = as_admin.get(USERS).content.decode()
        assert "root" in page
        assert "stranger" in page

    def test_adding_one_gives_a_link_to_hand_over(self, as_admin):
        response = as_admin.post(f"{USERS}add/", {"username": "lena", "role": "labeller"})
        assert "no-store" in response["Cache-Control"]
        browser = Client()
        assert browser.post(link_in(response)).status_code == 302
        assert User.objects.get(username="lena").role == "labeller"

    @pytest.mark.parametrize("name", ["root", "ROOT", "", "a b", "..", "x" * 151])
    def test_a_name_that_cannot_be_is_refused_at_the_form(self, as_admin, name):
        response = as_admin.post(f"{USERS}add/", {"username": name, "role": "viewer"})
        assert response.status_code == 422
        assert User.objects.count() == 1

    def test_a_role_that_does_not_exist_is_refused(self, as_admin, stranger):
        assert as_admin.post(f"{USERS}add/", {"username": "lena", "role": "owner"}).status_code == 422
        assert as_admin.post(f"{USERS}stranger/role/", {"role": "owner"}).status_code == 400

    def test_changing_a_role(self, as_admin, stranger):
        response = as_admin.post(f"{USERS}stranger/role/", {"role": "operator"}, follow=True)
        assert "stranger is now: Operator." in response.content.decode()
        stranger.refresh_from_db()
        assert stranger.role == "operator"

    def test_deactivating_ends_sessions_and_tokens(self, as_admin, stranger):
        browser = Client()
        sign_in(browser)
        _, token = accounts.make_token(stranger, name="x", role="viewer")
        as_admin.post(f"{USERS}stranger/deactivate/")
        assert browser.get(TOKENS).status_code == 302
        assert ask(token).status_code == 401
        as_admin.post(f"{USERS}stranger/activate/")
        assert ask(token).status_code == 200

    @pytest.mark.parametrize("act", ["role", "deactivate"])
    def test_the_last_active_admin_stays(self, as_admin, admin, act):
        UserFactory(username="gone", role="admin", is_active=False)
        response = as_admin.post(f"{USERS}root/{act}/", {"role": "viewer"}, follow=True)
        assert "last active admin" in response.content.decode()
        admin.refresh_from_db()
        assert admin.has_role("admin")

    def test_one_of_two_admins_may_go(self, as_admin, admin):
        UserFactory(username="second", role="admin")
        as_admin.post(f"{USERS}root/role/", {"role": "viewer"})
        assert as_admin.get(USERS).status_code == 403

    def test_another_link_for_somebody(self, as_admin, stranger):
        response = as_admin.post(f"{USERS}stranger/link/")
        assert Client().get(link_in(response)).status_code == 200

    def test_no_link_for_the_deactivated(self, as_admin, stranger):
        accounts.deactivate(stranger, by="root")
        response = as_admin.post(f"{USERS}stranger/link/", follow=True)
        assert "Activate the account first" in response.content.decode()

    def test_nobody_by_that_name(self, as_admin):
        assert as_admin.post(f"{USERS}nobody/role/", {"role": "viewer"}).status_code == 404

    def test_the_number_of_queries_does_not_grow(self, as_admin, django_assert_num_queries):
        for rows in (1, 30):
            UserFactory.create_batch(rows)
            with django_assert_num_queries(4):  # session, user, list, who is locked
                as_admin.get(USERS)


class TestTokens:
    @pytest.fixture
    def signed_in(self, client, reviewer):
        client.force_login(reviewer, backend="django.contrib.auth.backends.ModelBackend")
        return client

    def test_it_works(self, signed_in):
        response = signed_in.post(f"{TOKENS}make/", {"name": "nightly", "role": "viewer", "days": "90"})
        assert "no-store" in response["Cache-Control"]
        assert ask(token_in(response)).status_code == 200
        page = signed_in.get(TOKENS).content.decode()
        assert "nightly" in page
        assert token_in(response) not in page

    def test_a_hostile_name_is_text_that_turns_nothing_round(self, as_admin, reviewer):
        accounts.make_token(reviewer, name="<img src=x>\u202enimda", role="viewer")
        page = as_admin.get(TOKENS).text
        assert "nimda" in page and "<img" not in page and "\u202e" not in page

    def test_only_a_hash_is_kept(self, reviewer):
        _, text = accounts.make_token(reviewer, name="x", role="viewer")
        assert text.split("_", 2)[2] not in str(ApiToken.objects.values())

    def test_a_role_above_ones_own_is_not_given(self, signed_in, reviewer):
        response = signed_in.post(f"{TOKENS}make/", {"name": "x", "role": "admin", "days": "90"})
        assert response.status_code == 422
        with pytest.raises(Refused):
            accounts.make_token(reviewer, name="x", role="operator")

    def test_a_token_loses_what_its_owner_loses(self, reviewer, ada):
        _, text = accounts.make_token(reviewer, name="x", role="labeller")
        assert accounts.user_of_token(text).has_role("labeller")
        accounts.change_role(reviewer, "viewer", by="root")
        assert not accounts.user_of_token(text).has_role("labeller")

    def test_a_token_carries_less_than_its_owner_when_told_so(self, admin):
        _, text = accounts.make_token(admin, name="x", role="viewer")
        assert not accounts.user_of_token(text).has_role("labeller")

    def test_revoking(self, signed_in, reviewer):
        token, text = accounts.make_token(reviewer, name="x", role="viewer")
        signed_in.post(f"{TOKENS}{token.id}/revoke/")
        assert ask(text).status_code == 401
        assert "revoked" in signed_in.get(TOKENS).content.decode()

    def test_other_peoples_tokens_are_not_there(self, signed_in, stranger):
        token, text = accounts.make_token(stranger, name="of the stranger", role="viewer")
        assert "of the stranger" not in signed_in.get(TOKENS).content.decode()
        assert signed_in.post(f"{TOKENS}{token.id}/revoke/").status_code == 404
        assert ask(text).status_code == 200

    def test_an_admin_sees_and_ends_everybodys(self, as_admin, stranger):
        token, text = accounts.make_token(stranger, name="of the stranger", role="viewer")
        assert "of the stranger" in as_admin.get(TOKENS).content.decode()
        as_admin.post(f"{TOKENS}{token.id}/revoke/")
        assert ask(text).status_code == 401

    def test_the_use_is_noted_at_most_once_a_minute(self, stranger, later):
        token, text = accounts.make_token(stranger, name="x", role="viewer")
        used = []
        for seconds in (1, 30, 62):
            later(seconds=seconds)
            ask(text)
            token.refresh_from_db()
            used.append(token.last_used_at)
        assert used[0] == used[1] < used[2]

    @pytest.mark.parametrize("change", [str.upper, lambda text: text[:-1], lambda text: text + "a", lambda _: "oc__"])
    def test_a_token_that_is_nearly_right_is_wrong(self, stranger, change):
        _, text = accounts.make_token(stranger, name="x", role="viewer")
        assert ask(change(text)).status_code == 401


@pytest.mark.parametrize("role", ROLES)
def test_a_role_holds_the_ones_below_it(role, db):
    user = UserFactory(role=role)
    held = [name for name in ROLES if user.has_role(name)]
    assert held == list(ROLES[: ROLES.index(role) + 1])


def test_answers_are_private_to_the_browser(as_admin):
    assert as_admin.get(reverse("operations:user_list"))["Cache-Control"] == "private, no-cache"


def test_each_button_of_a_person_says_whom_it_is_about(as_admin):
    UserFactory(username="mei")
    page = as_admin.get(USERS).text
    for says in ("Make a one-time link for mei", "Sign out mei everywhere", "Deactivate mei"):
        assert f'aria-label="{says}"' in page
