"""Invitations: made and taken back by admins, used once by whoever holds the link."""

import re

import pytest
from django.test import Client

from agents.models import AuditEntry
from operations import invitations
from operations.models import Invitation, User
from tests.factories import UserFactory
from tests.operations.backing_up import run, start

LIST = "/operations/invitations/"
MAKE = f"{LIST}make/"
CHOSEN = {"username": "lena", "password": "correct horse battery", "again": "correct horse battery"}
pytestmark = pytest.mark.django_db


def link_in(response):
    return re.search(r"/join/[\w-]+/", response.content.decode())[0]


def invite(role="labeller", *, days=7, note=""):
    return invitations.invite(role, by="root", days=days, note=note)


def test_it_works(as_admin):
    response = as_admin.post(MAKE, {"role": "labeller", "days": "7", "note": "the new colleague"})
    assert "no-store" in response["Cache-Control"]
    link = link_in(response)
    page = as_admin.get(LIST).content.decode()
    assert "the new colleague" in page
    assert link not in page
    browser = Client()
    assert "root invites you as Labeller" in browser.get(link).content.decode()
    assert browser.post(link, CHOSEN)["Location"] == "/"
    assert browser.get("/account/").status_code == 200
    assert User.objects.get(username="lena").role == "labeller"
    assert "the new colleague" not in as_admin.get(LIST).content.decode()


def test_an_empty_list_says_what_to_do(as_admin):
    assert "No open invitations" in as_admin.get(LIST).content.decode()


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
        ({"again": "something else"}, "differ"),
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


def test_taking_it_back(as_admin):
    invitation, path = invite()
    for _ in range(2):
        assert as_admin.post(f"{LIST}{invitation.id}/revoke/")["Location"] == LIST
    assert Client().post(path, CHOSEN).status_code == 409
    assert AuditEntry.objects.filter(action="invitation_revoked").count() == 1


ACCEPT = """
from openclaw_web.errors import Refused
from operations import invitations
try:
    print("in", invitations.accept({secret!r}, username={name!r}, password="correct horse battery"))
except Refused as refused:
    print("out", refused)
"""


SHELL = ("shell", "--no-imports", "-c")


@pytest.mark.kill
def test_of_two_who_come_at_once_one_gets_it(tmp_path):
    home = tmp_path / "home"
    invite_one = "from operations import invitations as i\nprint(i.invite('viewer', days=7, by='x')[1])"
    assert run(home, "jobs")[0] == 0  # makes the database
    secret = run(home, *SHELL, invite_one)[1].split("/")[2]
    both = [start(home, *SHELL, ACCEPT.format(secret=secret, name=name)) for name in ("first", "second")]
    answers = sorted(process.communicate()[0].split()[0] for process in both)
    assert answers == ["in", "out"]
    people = "from operations.models import User\nprint(User.objects.count())"
    assert run(home, *SHELL, people)[1].strip() == "1"


def test_only_a_hash_is_kept(db):
    _, path = invite()
    assert path.split("/")[2] not in str(Invitation.objects.values())
    assert path.split("/")[2] not in str(AuditEntry.objects.values())


@pytest.mark.parametrize("data", [{}, {"role": "owner", "days": "7"}, {"role": "viewer", "days": "3650"}])
def test_what_cannot_be_is_refused_at_the_form(as_admin, data):
    assert as_admin.post(MAKE, data).status_code == 422
    assert not Invitation.objects.exists()


def test_hostile_notes_are_text(as_admin):
    invite(note='<script>alert(1)</script>" onmouseover="x')
    page = as_admin.get(LIST).content.decode()
    assert "<script>alert" not in page
    assert 'onmouseover="x' not in page


@pytest.mark.parametrize("secret", ["x", "%00", "é" * 40])
def test_a_made_up_one_is_refused(client, db, secret):
    assert client.get(f"/join/{secret}/").status_code == 409


def test_somebody_who_is_signed_in_is_told(as_admin):
    _, path = invite()
    assert "You are signed in as root" in as_admin.get(path).content.decode()
    as_admin.post(path, CHOSEN)
    assert as_admin.get(LIST).status_code == 403


def test_the_number_of_queries_does_not_grow(as_admin, django_assert_num_queries):
    for rows in (1, 30):
        for _ in range(rows):
            invite()
        with django_assert_num_queries(3):  # session, user, list
            as_admin.get(LIST)


def test_the_pages_of_the_list(as_admin):
    UserFactory()
    for number in range(60):
        invite(note=f"number {number:02}")
    first = as_admin.get(LIST)
    assert "number 59" in first.content.decode()
    after = re.search(r"after=([\w-]+)", first.content.decode())[1]
    assert "number 00" in as_admin.get(LIST, {"after": after}).content.decode()
