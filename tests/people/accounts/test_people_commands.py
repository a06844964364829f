"""Commands that create users, sign-in links and tokens."""

import re

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from people.accounts import services as accounts
from people.models import ApiToken, User
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db


def ask(token):
    return Client().get("/api/v1/agents", headers={"Authorization": f"Bearer {token}"})


def test_create_user_prints_a_link(capsys, db):
    call_command("create_user", "lena", role="operator", address="https://claw.example/")
    address = capsys.readouterr().out.strip()
    assert address.startswith("https://claw.example/welcome/")
    assert Client().post(address.removeprefix("https://claw.example")).status_code == 302
    assert User.objects.get().role == "operator"


def test_create_user_refuses_a_name_twice(stranger):
    with pytest.raises(CommandError, match="already a user"):
        call_command("create_user", "stranger")


def test_sign_in_link_prints_a_link(capsys, stranger):
    call_command("sign_in_link", "stranger")
    path = capsys.readouterr().out.strip().partition("8765")[2]
    assert Client().post(path).status_code == 302


def test_sign_in_link_needs_somebody(db):
    with pytest.raises(CommandError, match="There is no user nobody"):
        call_command("sign_in_link", "nobody")


def test_create_token_prints_a_token_and_nothing_else(capsys, reviewer):
    call_command("create_token", reviewer.username, name="nightly", role="labeller")
    out, err = capsys.readouterr()
    assert re.fullmatch(r"oc_[0-9a-f]{8}_[\w-]+\n", out) and err == ""
    assert ask(out.strip()).status_code == 200
    token = ApiToken.objects.get()
    assert (token.user, token.name, token.role) == (reviewer, "nightly", "labeller")
    assert token.expires_at - token.created_at == 90 * 86_400_000


def test_create_token_is_in_the_audit_log_without_the_token(capsys, reviewer):
    call_command("create_token", reviewer.username, name="nightly", days=0)
    text, entry = capsys.readouterr().out.strip(), AuditEntry.objects.get(action="token_made")
    assert (entry.actor, entry.via, entry.object_id) == ("", "command", text[3:11])
    assert orjson.loads(entry.detail_json) == {"role": "viewer", "days": None, "owner": reviewer.username}
    assert ApiToken.objects.get().expires_at is None


@pytest.mark.parametrize(
    ("user", "options", "sentence"),
    [
        ("nobody", {}, "There is no user nobody. Add the user: openclaw-web create_user nobody"),
        ("reviewer", {"role": "admin"}, "cannot have the role admin"),
        ("reviewer", {"name": " "}, "a single line of 1 to 100 characters"),
        ("reviewer", {"name": "x" * 101}, "a single line of 1 to 100 characters"),
        ("reviewer", {"name": "two\nlines"}, "a single line of 1 to 100 characters"),
    ],
)
def test_create_token_refuses(reviewer, user, options, sentence):
    name = reviewer.username if user == "reviewer" else user
    with pytest.raises(CommandError, match=sentence):
        call_command("create_token", name, **{"name": "nightly", **options})
    assert not ApiToken.objects.exists()


def test_create_token_refuses_somebody_who_is_deactivated(reviewer, ada):
    accounts.deactivate(reviewer, by="root")
    with pytest.raises(CommandError, match="is deactivated"):
        call_command("create_token", reviewer.username, name="nightly")
    assert not ApiToken.objects.exists()
