"""Guessing names and passwords: answers do not reveal names, and too many tries lock."""

import re

import pytest
from django.contrib.auth.hashers import get_hasher
from django.test import Client

from people.accounts import services as accounts
from tests.factories import UserFactory

PASSWORD = "correct horse battery"
SIGN_IN = "/sign-in/"
pytestmark = pytest.mark.django_db


def try_sign_in(name, password):
    response = Client().post(SIGN_IN, {"username": name, "password": password})
    page = re.sub(r"\b\w{64}\b", "", response.text)  # the CSRF tokens
    return response.status_code, page.replace(f'value="{name}"', "")


def test_unknown_deactivated_and_wrong_look_the_same(stranger):
    UserFactory(username="gone", is_active=False)
    accounts.add_user("linked", "viewer")
    wrong = try_sign_in("stranger", "wrong")
    assert try_sign_in("nobody", "wrong") == wrong
    assert try_sign_in("gone", PASSWORD) == wrong
    assert try_sign_in("linked", "wrong") == wrong


@pytest.mark.parametrize("name", ["stranger", "nobody", "gone", "linked"])
def test_each_costs_one_hash(stranger, monkeypatch, name):
    UserFactory(username="gone", is_active=False)
    accounts.add_user("linked", "viewer")
    hasher, hashed = type(get_hasher()), []
    encode = hasher.encode
    monkeypatch.setattr(hasher, "encode", lambda self, *given: hashed.append(1) or encode(self, *given))
    try_sign_in(name, "wrong")
    assert len(hashed) == 1


@pytest.mark.parametrize("name", ["stranger", "nobody"])
def test_the_fifth_wrong_password_locks_a_name_and_says_how_long_and_what_else_works(stranger, reviewer, name):
    assert [try_sign_in(name, "wrong")[0] for _ in range(5)] == [422, 422, 422, 422, 429]
    status, page = try_sign_in(name, PASSWORD)
    assert status == 429
    for words in ("Too many wrong passwords", "Try again in 15 minutes", "openclaw-web sign_in_link"):
        assert words in page
    assert try_sign_in("reviewer", PASSWORD)[0] == 302
    assert Client().post(accounts.make_sign_in_link(stranger)).status_code == 302


def test_an_admin_unlocks(as_admin, stranger):
    assert "Unlock" not in as_admin.get("/operations/users/").text
    for _ in range(5):
        try_sign_in("stranger", "wrong")
    assert as_admin.get("/operations/users/").text.count('/unlock/"') == 1
    assert try_sign_in("stranger", PASSWORD)[0] == 429
    as_admin.post("/operations/users/stranger/unlock/")
    assert try_sign_in("stranger", PASSWORD)[0] == 302
    assert "Unlock" not in as_admin.get("/operations/users/").text
