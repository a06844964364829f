"""The page of the audit log: filters, orders, pages, files, saved views; and its API."""

import re

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from openclaw_web.lists import declaration
from people.audit import entries
from people.audit import log as audit
from people.audit.audit_list import AUDIT
from people.models.bookkeeping import AuditEntry
from tests.factories import SampleFactory, SessionFactory

pytestmark = pytest.mark.django_db
LOG, API = "/operations/audit/", "/api/v1/operations/audit"
DAY = 86_400_000
FIRST = 1_771_632_000_000  # 2026-02-21


@pytest.fixture
def four(db):
    """Four entries, a day apart."""
    columns = ("actor", "action", "object_type", "object_id", "agent_id")
    rows = [
        ("root", "labelled", "sample", "x", ""),
        ("root", "read", "session", "s9", "ada"),
        ("root", "role_changed", "user", "zoe", ""),
        ("zoe", "signed_in", "user", "zoe", ""),
    ]
    for number, row in enumerate(rows):
        AuditEntry.objects.create(at=FIRST + number * DAY, via="page", **dict(zip(columns, row, strict=True)))


def read_ids(response):
    return [entry.id for entry in response.context["page"]]


def test_it_works(as_admin, ada):
    SessionFactory(id="s1")
    as_admin.get("/agents/ada/sessions/s1/")
    page = as_admin.get(LOG, {"segment": "reading"})
    assert "1 entry in the audit log" in page.text
    assert ">opened</td>" in page.text
    assert 'ada · <a href="/agents/ada/sessions/s1/">s1</a>' in page.text


@pytest.mark.parametrize(("since", "until"), [("from_ts", "to_ts"), ("fromTs", "toTs")])
def test_the_api_takes_moments(as_admin, four, since, until):
    items = as_admin.get(API, {since: FIRST + DAY, until: FIRST + 2 * DAY}).json()["items"]
    assert [item["action"] for item in items] == ["read"]


@pytest.mark.parametrize("query", ["actor=%00", "object_id=%ED%A0%80", "object_type=user&object_id=%00&agent=%FF"])
def test_what_stands_in_no_entry_fits_none(as_admin, four, query):
    assert as_admin.get(f"{API}?{query}").json()["items"] == []


def test_hostile_names_are_text(as_admin):
    audit.record("<b>x</b>", "<i>", object_type="sample", object_id="<script>\u202e/..", agent_id="<a>", name="<u>")
    audit.record("x", "read", object_type="<s>", object_id="x")
    page = as_admin.get(LOG, {"segment": "all"}).text
    assert not [part for part in ("<script>\u202e", "<b>x", "<i>", "<u>", "<s>", "<a>", "\u202e") if part in page]
    assert "&lt;script&gt;" in page


def test_nobody_and_the_terminal(as_admin):
    audit.record("", "downloaded")
    with audit.act_via("page"):
        audit.record("", "locked_out", object_type="user", object_id="zoe")
    page = as_admin.get(LOG, {"segment": "all"}).text
    assert '<span class="muted nowrap">command line</span>' in page
    assert '<span class="muted">nobody</span>' in page


def test_a_file_has_the_columns_of_the_api(as_admin):
    audit.record("root", "invited", object_type="invitation", object_id="4", role="labeller", days=7)
    body = b"".join(as_admin.get(LOG, {"format": "json"}).streaming_content)
    assert orjson.loads(body)[-1:] == as_admin.get(API, {"action": "invited"}).json()["items"]


def test_what_has_no_index_is_searched_for(as_admin):
    rows = [AuditEntry(at=number, actor="root", via="page", action="read") for number in range(1, 5_100)]
    AuditEntry.objects.create(at=0, actor="root", via="page", action="read", agent_id="ada")
    AuditEntry.objects.bulk_create(rows, batch_size=500)
    first = as_admin.get(LOG, {"agent": "ada"})
    assert (read_ids(first), first.context["page"].is_partial) == ([], True)
    second = as_admin.get(LOG, {"agent": "ada", "after": first.context["page"].next})
    assert len(read_ids(second)) == 1


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({}, "idx_audit_at"),
        ({"from": "2026-02-21", "to": "2026-02-22"}, "idx_audit_at (at>? AND at<?)"),
        ({"actor": "root", "from": "2026-02-21"}, "idx_audit_actor (actor=? AND at>?)"),
        ({"action": "read", "actor": "root"}, "idx_audit_actor (actor=?)"),
        ({"action": "read"}, "idx_audit_action (action=?)"),
        ({"object_type": "session", "object_id": "s9"}, "idx_audit_object (object_type=? AND object_id=?)"),
        ({"agent": "ada"}, "idx_audit_at"),
    ],
)
def test_an_index_serves_filter_and_order(admin, query, index):
    listing = AUDIT.fits(admin, **AUDIT.filters(query).validate().criteria)
    plan = listing.all.order_by(*listing.order).explain()
    assert index in plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize(
    ("segment", "actions"),
    [
        ("administration", ["signed_in", "role_changed"]),
        ("verdicts", ["labelled"]),
        ("reading", ["read"]),
        ("all", ["signed_in", "role_changed", "read", "labelled"]),
    ],
)
def test_segments(as_admin, four, segment, actions):
    page = as_admin.get(LOG, {"segment": segment})
    assert [entry.action for entry in page.context["page"]] == actions
    assert [item["action"] for item in as_admin.get(API, {"segment": segment}).json()["items"]] == actions


def test_the_page_begins_with_administration_and_the_api_with_everything(as_admin, four):
    assert len(read_ids(as_admin.get(LOG))) == 2
    assert len(as_admin.get(API).json()["items"]) == 4
    assert len(read_ids(as_admin.get(LOG, {"object_id": "s9"}))) == 1


def test_a_segment_with_few_entries_among_many_others_is_searched_for(as_admin):
    rows = [AuditEntry(at=number, actor="root", via="page", action="read") for number in range(2, 10_100)]
    AuditEntry.objects.create(at=1, actor="root", via="page", action="invited")
    AuditEntry.objects.bulk_create(rows, batch_size=500)
    AuditEntry.objects.create(at=20_000, actor="root", via="page", action="invited")
    first = as_admin.get(LOG)
    assert (len(read_ids(first)), first.context["page"].is_partial) == (1, True)
    assert "At least 1 entry in the audit log" in first.text
    assert len(read_ids(as_admin.get(LOG, {"after": first.context["page"].next}))) == 1


def test_a_row_without_an_object_names_none(as_admin):
    audit.record("root", "sessions_removed", object_type="session", removed=4)
    audit.record("root", "sessions_restored", object_type="session", agent_id="ada", sessions=1)
    cells = re.findall(r'data-label="Object"><span>(.*?)</span>', as_admin.get(LOG).text)
    assert cells == ["ada", ""]


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ({"role": "labeller", "days": 90}, "role: Labeller, for 90 days"),
        ({"days": 1}, "for 1 day"),
        ({"session": "s1", "new": False}, "session s1, already present"),
        ({"how": "password"}, "with a password"),
        ({"removed": 1200, "bytes": 4_200, "kept": 1}, "1,200 removed, 4.2 kB, 1 kept"),
        ({"sessions": 1, "records": 12}, "1 session, 12 records"),
        ({"older_than_seconds": 7_200}, "older than 2 h"),
        ({"format": "sharegpt", "task": "reply"}, "as ShareGPT, task: Reply"),
        ({"previous_status": "needs_review", "status": "approved"}, "before: Needs review, verdict: Approved"),
        ({"before": "viewer", "role": "admin"}, "before: Viewer, role: Admin"),
        ({"before": "2026-02-21", "mode": "headtail"}, "before: 2026-02-21, mode Beginning and end"),
        ({"language": "zh-hans", "theme": "default"}, "language: 简体中文, theme: default"),
        ({"kinds": "aws_key, bearer, x"}, "kinds of secrets: AWS key, Bearer token, x"),
        ({"something_new": True}, "something new: yes"),
        ({"file": "", "reason": None}, ""),
    ],
)
def test_details_are_words(as_admin, detail, words):
    audit.record("root", "token_made", object_type="token", object_id="x", **detail)
    page = as_admin.get(LOG, {"action": "token_made"}).text
    assert f'<td class="medium break muted" data-label="Details">{words}</td>' in page


@pytest.mark.parametrize(
    ("via", "words"),
    [("page", "Page"), ("api", "API"), ("command", "Command line"), ("job", "Job"), ("token oc_1", "Token oc_1")],
)
def test_by_what_means_is_said_in_words(as_admin, via, words):
    with audit.act_via(via):
        audit.record("root", "token_made", object_type="token", object_id="x")
    assert f'data-label="Via">{words}</td>' in as_admin.get(LOG, {"action": "token_made"}).text


def test_every_action_has_words_of_its_own():
    choices = entries.action_choices()
    assert sorted(name for name, _words in choices) == entries.action_names()
    words = [words for _name, words in choices]
    assert len(set(words)) == len(words)
    assert not [words for _name, words in choices if "_" in words]


def test_lists_are_called_what_they_are(as_admin):
    assert entries.LIST_NAMES.keys() == declaration.find_lists().keys()
    audit.record("root", "view_kept", object_type="list", object_id="rejected")
    assert "list Rejected records</span>" in as_admin.get(LOG, {"action": "view_kept"}).text


def test_what_was_read_is_looked_for_by_its_object(as_reviewer):
    """The query does not search all entries of a person: verdicts became slower with each entry."""
    sample = SampleFactory()
    with CaptureQueriesContext(connection) as queries:
        as_reviewer.get(f"/api/v1/samples/{sample.id}")
    [sql] = [
        query["sql"] for query in queries if "operator_audit" in query["sql"] and query["sql"].startswith("SELECT")
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        assert "idx_audit_object (object_type=? AND object_id=? AND at" in cursor.fetchone()[-1]
