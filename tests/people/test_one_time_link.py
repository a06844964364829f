"""Links that let somebody in once: the first admin's, and those that are handed over."""

import io

import pytest
from django.core.management import call_command
from django.test import Client

from openclaw_web.errors import Refused
from people.accounts import services as accounts
from people.models import OneTimeLink, User
from tests.factories import UserFactory
from tests.people.signing_in import PASSWORD, TOKENS, USERS, sign_in

pytestmark = pytest.mark.django_db


class TestFirstAdmin:
    DATA = {"username": "root", "password": PASSWORD, "again": PASSWORD}

    def test_it_works(self, client):
        path = accounts.make_first_admin_link()
        assert "first admin" in client.get(path).content.decode()
        assert client.post(path, self.DATA)["Location"] == "/"
        assert User.objects.get().role == "admin"
        assert client.get(USERS).status_code == 200

    def test_it_is_offered_only_while_there_is_no_admin(self, admin):
        with pytest.raises(Refused, match="There is already an admin"):
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
        assert answer.status_code == 409 and "There is already an admin" in answer.content.decode()
        assert client.post(path, self.DATA).status_code == 409
        assert not User.objects.filter(username="root").exists()

    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"password": "short", "again": "short"}, "too short"),
            ({"password": "password12", "again": "password12"}, "too common"),
            ({"password": "4711471147114711", "again": "4711471147114711"}, "entirely numeric"),
            ({"again": "something else"}, "do not match"),
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


def test_it_works(client, stranger):
    path = accounts.make_sign_in_link(stranger)
    assert "Welcome, stranger" in client.get(path).content.decode()
    assert client.post(path)["Location"] == "/"
    assert client.get(TOKENS).status_code == 200


def test_looking_at_it_does_not_use_it_up(client, stranger):
    path = accounts.make_sign_in_link(stranger)
    for _ in range(3):
        assert client.get(path).status_code == client.head(path).status_code == 200
    assert client.post(path).status_code == 302


def test_it_works_once(stranger):
    path = accounts.make_sign_in_link(stranger)
    assert Client().post(path).status_code == 302
    response = Client().post(path)
    assert response.status_code == 409
    assert "has been used or has expired" in response.content.decode()
    assert Client().get(path).status_code == 409


def test_it_lives_for_a_day(client, stranger, later):
    path = accounts.make_sign_in_link(stranger)
    later(hours=23.9)
    assert client.get(path).status_code == 200
    later(hours=24.1)
    assert client.get(path).status_code == client.post(path).status_code == 409


def test_it_can_set_a_password(client, stranger):
    path = accounts.make_sign_in_link(stranger)
    assert client.post(path, {"password": "short", "again": "short"}).status_code == 422
    assert client.post(path, {"password": "another good one", "again": "another good one"}).status_code == 302
    assert sign_in(Client(), password="another good one").status_code == 302
    assert sign_in(Client()).status_code == 422


def test_it_dies_with_its_person(client, stranger):
    path = accounts.make_sign_in_link(stranger)
    accounts.deactivate(stranger, by="root")
    assert client.post(path).status_code == 409


def test_only_a_hash_is_kept(stranger):
    secret = accounts.make_sign_in_link(stranger).split("/")[2]
    assert secret not in str(OneTimeLink.objects.values())


def test_no_cache_keeps_the_page(client, stranger):
    assert "no-store" in client.get(accounts.make_sign_in_link(stranger))["Cache-Control"]


@pytest.mark.parametrize("secret", ["x", "%00", "é" * 40])
def test_a_made_up_one_is_refused(client, secret):
    assert client.get(f"/welcome/{secret}/").status_code == 409
