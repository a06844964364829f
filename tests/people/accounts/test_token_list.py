"""The page of tokens: created, listed, revoked, and the permissions of each."""

import pytest

from people.accounts import services as accounts
from people.accounts import tokens
from people.models import ApiToken
from tests.people.sign_in_steps import TOKENS, ask_with_token, find_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client, reviewer):
    client.force_login(reviewer, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_it_works(signed_in):
    response = signed_in.post(f"{TOKENS}make/", {"name": "nightly", "role": "viewer", "days": "90"})
    assert "no-store" in response["Cache-Control"]
    assert ask_with_token(find_token(response)).status_code == 200
    page = signed_in.get(TOKENS).content.decode()
    assert "nightly" in page
    assert find_token(response) not in page


def test_a_hostile_name_is_text_that_turns_nothing_round(as_admin, reviewer):
    tokens.make_token(reviewer, name="<img src=x>\u202enimda", role="viewer")
    page = as_admin.get(TOKENS).text
    assert "nimda" in page and "<img" not in page and "\u202e" not in page


def test_only_a_hash_is_kept(reviewer):
    _, text = tokens.make_token(reviewer, name="x", role="viewer")
    assert text.split("_", 2)[2] not in str(ApiToken.objects.values())


def test_a_role_above_ones_own_is_not_given(signed_in):
    response = signed_in.post(f"{TOKENS}make/", {"name": "x", "role": "admin", "days": "90"})
    assert response.status_code == 422
    sent = {"name": "x", "role": "operator"}
    assert signed_in.post(f"/api/v1{TOKENS[:-1]}", sent, "application/json").status_code == 409


def test_a_token_loses_what_its_owner_loses(reviewer, ada):
    _, text = tokens.make_token(reviewer, name="x", role="labeller")
    assert tokens.find_user(text).has_role("labeller")
    accounts.change_role(reviewer, "viewer", by="root")
    assert not tokens.find_user(text).has_role("labeller")


def test_a_token_carries_less_than_its_owner_when_told_so(admin):
    _, text = tokens.make_token(admin, name="x", role="viewer")
    assert not tokens.find_user(text).has_role("labeller")


def test_revoking(signed_in, reviewer):
    token, text = tokens.make_token(reviewer, name="x", role="viewer")
    signed_in.post(f"{TOKENS}{token.id}/revoke/")
    assert ask_with_token(text).status_code == 401
    assert ">Revoked<" in signed_in.get(TOKENS).content.decode()


def test_other_peoples_tokens_are_not_there(signed_in, stranger):
    token, text = tokens.make_token(stranger, name="of the stranger", role="viewer")
    assert "of the stranger" not in signed_in.get(TOKENS).content.decode()
    assert signed_in.get(f"/api/v1{TOKENS[:-1]}").json()["items"] == []
    for address in (f"{TOKENS}{token.id}/revoke/", f"/api/v1{TOKENS}{token.id}/revoke"):
        assert signed_in.post(address, {}, "application/json").status_code == 404
    assert ask_with_token(text).status_code == 200


def test_an_admin_sees_and_ends_everybodys(as_admin, stranger):
    token, text = tokens.make_token(stranger, name="of the stranger", role="viewer")
    assert "of the stranger" in as_admin.get(TOKENS).content.decode()
    as_admin.post(f"{TOKENS}{token.id}/revoke/")
    assert ask_with_token(text).status_code == 401


def test_the_use_is_noted_at_most_once_a_minute(stranger, later):
    token, text = tokens.make_token(stranger, name="x", role="viewer")
    used = []
    for seconds in (1, 30, 62):
        later(seconds=seconds)
        ask_with_token(text)
        token.refresh_from_db()
        used.append(token.last_used_at)
    assert used[0] == used[1] < used[2]


@pytest.mark.parametrize("change", [str.upper, lambda text: text[:-1], lambda text: text + "a", lambda _: "oc__"])
def test_a_token_that_is_nearly_right_is_wrong(stranger, change):
    _, text = tokens.make_token(stranger, name="x", role="viewer")
    assert ask_with_token(change(text)).status_code == 401
