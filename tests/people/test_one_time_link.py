"""One-time links: an invitation, a sign-in link that is handed over, the first admin's link."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.core.management import call_command
from django.test import Client

from openclaw_web.errors import Refused
from people.accounts import invitations
from people.accounts import services as accounts
from people.models import Invitation, OneTimeLink, User
from people.models.bookkeeping import AuditEntry
from tests.factories import UserFactory
from tests.people.sign_in_steps import PASSWORD, sign_in

CHOSEN = {"username": "lena", "password": PASSWORD, "again": PASSWORD}


@dataclass(frozen=True)
class Door:
    """A kind of one-time link: how one is made, how long it lives, and its result.

    `says` stands on its page, `sent` is the form it takes, `becomes` the name and role of the person, and `model` has
    its row.
    """

    make: Callable[[], str]
    days: int
    says: str
    sent: dict[str, str]
    becomes: tuple[str, str]
    model: type


def invite(role="labeller", *, days=30):
    return invitations.invite(role, by="root", days=days)[1]


def hand_over():
    return accounts.make_sign_in_link(User.objects.get(username="stranger"))


INVITATION = Door(invite, 30, "root invites you as Labeller", CHOSEN, ("lena", "labeller"), Invitation)
HANDED_OVER = Door(hand_over, 1, "Welcome, stranger", {}, ("stranger", "viewer"), OneTimeLink)
FIRST_ADMIN = Door(accounts.make_first_admin_link, 1, "first admin", CHOSEN, ("lena", "admin"), OneTimeLink)
each_door = pytest.mark.parametrize("door", [INVITATION, HANDED_OVER, FIRST_ADMIN])
each_new_account = pytest.mark.parametrize("door", [INVITATION, FIRST_ADMIN])


@each_door
def test_only_its_button_uses_it_up_and_that_once(client, stranger, door):
    path = door.make()
    for _ in range(3):
        page = client.get(path)
        assert page.status_code == client.head(path).status_code == 200
    assert door.says in page.text and "no-store" in page["Cache-Control"]
    assert client.post(path, door.sent | {"role": "admin"})["Location"] == "/"
    me = client.get("/api/v1/me").json()
    assert (me["username"], me["role"]) == door.becomes
    count = User.objects.count()
    again = Client().post(path, door.sent | {"username": "other"})
    assert again.status_code == Client().get(path).status_code == 409
    assert "has been used" in again.text or door is FIRST_ADMIN
    assert User.objects.count() == count


@each_door
def test_it_lives_as_long_as_was_said(client, stranger, later, door):
    path = door.make()
    later(hours=24 * door.days - 0.1)
    assert client.get(path).status_code == 200
    later(hours=24 * door.days + 0.1)
    assert client.get(path).status_code == client.post(path, door.sent).status_code == 409


@each_door
def test_only_a_hash_is_kept(stranger, door):
    secret = door.make().split("/")[2]
    assert secret not in str(door.model.objects.values()) + str(AuditEntry.objects.values())


@pytest.mark.django_db
@pytest.mark.parametrize("secret", ["x", "%00", "é" * 40])
@pytest.mark.parametrize("way", ["join", "welcome"])
def test_a_made_up_one_is_refused(client, way, secret):
    assert client.get(f"/{way}/{secret}/").status_code == 409


@each_door
@pytest.mark.parametrize(
    ("password", "again", "sentence"),
    [
        ("short", "short", "too short"),
        ("password12", "password12", "too common"),
        ("4711471147114711", "4711471147114711", "entirely numeric"),
        (PASSWORD, "something else", "do not match"),
    ],
)
def test_a_password_that_does_not_fit_leaves_it_open(client, stranger, door, password, again, sentence):
    path = door.make()
    answer = client.post(path, door.sent | {"password": password, "again": again})
    assert answer.status_code == 422 and sentence in answer.text
    assert client.post(path, door.sent).status_code == 302


@each_new_account
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("STRANGER", "already a user"),
        ("a b", "valid username"),
        ("a/b", "valid username"),
        ("<b>", "valid username"),
        ("..", "a letter or a digit"),
        ("a\0b", "Null characters"),
    ],
)
def test_a_name_that_cannot_be_leaves_it_open(client, stranger, door, name, sentence):
    path = door.make()
    answer = client.post(path, door.sent | {"username": name})
    assert answer.status_code in (409, 422) and sentence in answer.text
    assert User.objects.get() == stranger
    assert client.post(path, door.sent).status_code == 302


def test_one_that_is_handed_over_can_set_a_password(client, stranger):
    path = hand_over()
    assert client.post(path, {"password": "another good one", "again": "another good one"}).status_code == 302
    assert sign_in(Client(), password="another good one").status_code == 302
    assert sign_in(Client()).status_code == 422


def test_one_that_is_handed_over_dies_with_its_person(client, stranger):
    path = hand_over()
    accounts.deactivate(stranger, by="root")
    assert client.post(path).status_code == 409


def test_that_of_the_first_admin_is_offered_only_while_there_is_none(client, stranger):
    error_output = io.StringIO()
    call_command("create_user", "mei", stdout=io.StringIO(), stderr=error_output)
    assert "There is no admin yet." in error_output.getvalue()
    path = accounts.make_first_admin_link()
    UserFactory(username="other", role="admin")
    answer = client.get(path)
    assert answer.status_code == 409 and "There is already an admin" in answer.text
    assert client.post(path, CHOSEN).status_code == 409
    assert not User.objects.filter(username="lena").exists()
    with pytest.raises(Refused, match="There is already an admin"):
        accounts.make_first_admin_link()
