"""Saved views of lists."""

import orjson
import pytest
from django.test import Client

from people.configuration import saved_views
from people.models.bookkeeping import AuditEntry
from tests.factories import SessionFactory

pytestmark = pytest.mark.django_db
LIST = "/agents/ada/sessions/"
KEEP, FORGET = "/operations/views/keep/", "/operations/views/forget/"


def save_view(client, **fields):
    fields = {"on": "sessions", "name": "Dear ones", "query": "?errors=on&sort=-cost", "next": LIST} | fields
    return client.post(KEEP, fields, follow=True)


def test_it_works(as_admin, ada):
    SessionFactory(error_count=1)
    page = save_view(as_admin)
    assert page.redirect_chain == [(LIST, 302)]
    assert '<a href="?errors=on&amp;sort=-cost">Dear ones</a>' in page.text
    page = as_admin.get(f"{LIST}?sort=-cost&errors=on&model=")
    assert '<a href="?errors=on&amp;sort=-cost" aria-current="page">Dear ones</a>' in page.text
    as_admin.post(FORGET, {"on": "sessions", "name": "Dear ones", "next": LIST})
    assert ">Dear ones</a>" not in as_admin.get(LIST).text
    assert [entry.action for entry in AuditEntry.objects.filter(object_type="list").order_by("id")] == [
        "view_kept",
        "view_removed",
    ]


def test_views_are_personal(as_admin, stranger, ada):
    save_view(as_admin)
    client = Client()
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    client.post(FORGET, {"on": "sessions", "name": "Dear ones"})
    assert ">Dear ones</a>" not in client.get(LIST).text
    assert ">Dear ones</a>" in as_admin.get(LIST).text


def test_only_filters_are_kept(as_admin, admin, ada):
    save_view(as_admin, query="?channel=irc&after=x&format=csv&q=&evil=1&next=http://elsewhere")
    assert [view.query for view in saved_views.read_views(admin.username, "sessions")] == ["?channel=irc"]


@pytest.mark.parametrize(
    "fields",
    [
        {"on": "users"},
        {"name": ""},
        {"name": " \t"},
        {"name": "x" * 61},
        {"name": "a\0b"},
        {"query": "?cost=much"},
        {"query": "?" + "x" * 9000},
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_sentence(as_admin, admin, ada, fields):
    page = save_view(as_admin, **fields)
    assert "notice--error" in page.text
    assert not saved_views.read_views(admin.username, "sessions")


def test_it_goes_back_to_this_site_only(as_admin, ada):
    page = as_admin.post(KEEP, {"on": "sessions", "name": "x", "query": "", "next": "https://elsewhere.example/"})
    assert page["Location"] == "/"


def test_a_name_is_only_text(as_admin, ada):
    assert "<script>x" not in save_view(as_admin, name="<script>x").text


def test_a_download_is_in_the_audit_log(as_admin, ada):
    SessionFactory.create_batch(3)
    page = as_admin.get(f"{LIST}?format=csv")
    assert page["Content-Disposition"].startswith('attachment; filename="sessions-ada-20')
    entry = AuditEntry.objects.get(action="downloaded")
    assert (entry.object_type, entry.object_id, entry.agent_id) == ("list", "sessions", "ada")
    assert orjson.loads(entry.detail_json) == {"filter": "", "format": "csv"}
