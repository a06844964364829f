"""An invitation, opened by whoever holds its link and used once."""

import pytest
from django.test import Client

from people.accounts import invitations
from people.models import Invitation, User
from people.models.kept import AuditEntry
from tests.operations.backups.backing_up import run, start

LIST = "/operations/invitations/"
CHOSEN = {"username": "lena", "password": "correct horse battery", "again": "correct horse battery"}
pytestmark = pytest.mark.django_db


def invite(role="labeller", *, days=7, note=""):
    return invitations.invite(role, by="root", days=days, note=note)


def test_opening_it_does_not_use_it_up(client, db):
    _, path = invite()
    for _ in range(3):
        assert client.get(path).status_code == client.head(path).status_code == 200
    assert client.post(path, CHOSEN).status_code == 302


def test_it_works_once(db):
    _, path = invite()
    assert Client().post(path, CHOSEN).status_code == 302
    assert Client().get(path).status_code == 409
    assert Client().post(path, CHOSEN | {"username": "other"}).status_code == 409
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"password": "short", "again": "short"}, "too short"),
        ({"again": "something else"}, "do not match"),
        ({"username": "REVIEWER"}, "already a user"),
        ({"username": "a b"}, "valid username"),
        ({"username": ".."}, "a letter or a digit"),
        ({"username": "a\0b"}, "Null characters"),
    ],
)
def test_what_does_not_fit_leaves_it_open(client, reviewer, changed, sentence):
    _, path = invite()
    response = client.post(path, CHOSEN | changed)
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert client.post(path, CHOSEN).status_code == 302


def test_nobody_chooses_a_role(client, db):
    _, path = invite("viewer")
    client.post(path, CHOSEN | {"role": "admin"})
    assert User.objects.get().role == "viewer"


@pytest.mark.parametrize("days", [1, 7, 30])
def test_it_lives_as_long_as_was_said(client, later, days):
    _, path = invite(days=days)
    later(hours=24 * days - 0.1)
    assert client.get(path).status_code == 200
    later(hours=24 * days + 0.1)
    assert client.get(path).status_code == client.post(path, CHOSEN).status_code == 409


def test_only_a_hash_is_kept(db):
    _, path = invite()
    assert path.split("/")[2] not in str(Invitation.objects.values())
    assert path.split("/")[2] not in str(AuditEntry.objects.values())


@pytest.mark.parametrize("secret", ["x", "%00", "é" * 40])
def test_a_made_up_one_is_refused(client, db, secret):
    assert client.get(f"/join/{secret}/").status_code == 409


def test_somebody_who_is_signed_in_is_told(as_admin):
    _, path = invite()
    assert "You are signed in as root" in as_admin.get(path).content.decode()
    as_admin.post(path, CHOSEN)
    assert as_admin.get(LIST).status_code == 403


ACCEPT = """
from openclaw_web.errors import Refused
from people.accounts import invitations
try:
    print("in", invitations.accept({secret!r}, username={name!r}, password="correct horse battery"))
except Refused as refused:
    print("out", refused)
"""
SHELL = ("shell", "--no-imports", "-c")


@pytest.mark.kill
def test_of_two_who_come_at_once_one_gets_it(tmp_path):
    home = tmp_path / "home"
    invite_one = "from people.accounts import invitations as i\nprint(i.invite('viewer', days=7, by='x')[1])"
    assert run(home, "jobs")[0] == 0  # makes the database
    secret = run(home, *SHELL, invite_one)[1].split("/")[2]
    both = [start(home, *SHELL, ACCEPT.format(secret=secret, name=name)) for name in ("first", "second")]
    answers = sorted(process.communicate()[0].split()[0] for process in both)
    assert answers == ["in", "out"]
    people = "from people.models import User\nprint(User.objects.count())"
    assert run(home, *SHELL, people)[1].strip() == "1"
