"""The page of invitations, which admins create and revoke."""

import re

import pytest
from django.test import Client

from people.accounts import invitations
from people.models import Invitation, User
from people.models.bookkeeping import AuditEntry
from tests.factories import UserFactory

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


def test_taking_it_back(as_admin):
    invitation, path = invite()
    for _ in range(2):
        assert as_admin.post(f"{LIST}{invitation.id}/revoke/")["Location"] == LIST
    assert Client().post(path, CHOSEN).status_code == 409
    assert AuditEntry.objects.filter(action="invitation_revoked").count() == 1


@pytest.mark.parametrize("data", [{}, {"role": "owner", "days": "7"}, {"role": "viewer", "days": "3650"}])
def test_what_cannot_be_is_refused_at_the_form(as_admin, data):
    assert as_admin.post(MAKE, data).status_code == 422
    assert not Invitation.objects.exists()


def test_hostile_notes_are_text(as_admin):
    invite(note='<script>alert(1)</script>" onmouseover="x')
    page = as_admin.get(LIST).content.decode()
    assert "<script>alert" not in page
    assert 'onmouseover="x' not in page


def test_the_pages_of_the_list(as_admin):
    UserFactory()
    for number in range(60):
        invite(note=f"number {number:02}")
    first = as_admin.get(LIST)
    assert "number 59" in first.content.decode()
    after = re.search(r"after=([\w-]+)", first.content.decode())[1]
    assert "number 00" in as_admin.get(LIST, {"after": after}).content.decode()
