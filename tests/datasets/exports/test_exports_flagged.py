"""Exports with keys that nobody judged, or with personal data: requests, downloads and the audit log."""

import orjson
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from datasets.exports.changes import OPEN_FINDINGS
from datasets.models import DatasetExport
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.conftest import BACKEND
from tests.datasets.exports.export_helpers import add_approved_samples, make_export
from tests.factories import UserFactory
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import make_output
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db
API = "/api/v1/exports"
WANTED = {"name": "Mine", "format": "sharegpt", "task": "reply", "train_split": 1}
FORM = WANTED | {"only_approved": "on", "seed": "0", "history": "edited"}
FLAGGED = {"include": ["flagged"]}
KEY = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture(autouse=True)
def home(own_home):
    """A turn whose output has a key, and one before it."""
    first = (user("question 1"), assistant("answer 1"))
    call = assistant("", ("c", "exec", {"command": "env"}))
    store_session(*first, user("question 2"), call, result("c", make_output(300, secret=KEY)), assistant("answer 2"))
    add_approved_samples(2)
    return own_home


def browser_of(role):
    """A separate browser, signed in as a user with this role."""
    browser = Client()
    browser.force_login(UserFactory(username=f"one-{role}", role=role), backend=BACKEND)
    return browser


def content(answer):
    """The text of a downloaded file."""
    assert answer.status_code == 200
    data = b"".join(answer.streaming_content)
    answer.close()
    return data.decode()


def rows_address(export):
    return reverse("datasets:export_file", args=[export.id, "ocl_Mine_sharegpt.train.jsonl"])


def entries(action):
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def test_it_works(as_reviewer):
    export = make_export(as_reviewer, name="Mine", format="sharegpt")
    assert export.total_samples == 1
    assert "With a key or password that nobody has judged" in as_reviewer.get(export.get_absolute_url()).text
    assert KEY not in content(as_reviewer.get(rows_address(export)))
    assert not entries("exported_flagged")


def test_an_admin_includes_them(as_admin):
    assert "Keys and passwords that nobody has judged" in as_admin.get("/exports/").text
    export = make_export(as_admin, name="Mine", format="sharegpt", **FLAGGED)
    page = as_admin.get(export.get_absolute_url()).text
    assert export.total_samples == 2 and "at an admin&#39;s request" in page and "only admins may download" not in page
    assert "include=flagged" in page
    rows = content(as_admin.get(rows_address(export)))
    assert KEY not in rows and "[KEY_1]" in rows
    [requested], [included], [downloaded] = entries("exported"), entries("exported_flagged"), entries("downloaded")
    assert orjson.loads(requested.detail_json)["include_flagged"] is True
    assert (included.actor, included.object_id, orjson.loads(included.detail_json)) == ("root", export.id, {"rows": 1})
    assert downloaded.object_id == export.id
    assert "exported personal data, or keys that nobody has judged" in as_admin.get("/operations/audit/").text


@pytest.mark.parametrize("flagged", [{}, FLAGGED])
def test_a_dry_run_has_the_numbers_of_the_export(as_admin, capsys, home, flagged):
    """The numbers cover rows that are left out for their keys; nothing is kept or logged.

    Only written rows show which of them have any.
    """
    flag = ["--include", "flagged"] if flagged else []
    call_command("export", "--format", "sharegpt", "--split", "1", "--dry-run", "--json", "--quiet", *flag)
    fits = orjson.loads(capsys.readouterr().out)["fits"]
    assert not list((home / "exports").iterdir()) and not AuditEntry.objects.exists()
    manifest = orjson.loads(make_export(as_admin, name="Mine", format="sharegpt", **flagged).manifest_json)
    excluded = {entry["reason"]: entry["count"] for entry in manifest["excluded"]}
    assert {entry["reason"]: entry["count"] for entry in fits["excluded"]} == excluded
    assert (fits["samples"], fits["rows"]) == (manifest["counts"]["samples"], manifest["counts"]["rows"])
    assert (OPEN_FINDINGS in excluded) is not bool(flagged)


@pytest.mark.parametrize("role", ["labeller", "operator"])
def test_nobody_else_may_ask(role):
    browser = browser_of(role)
    assert "Keys and passwords that nobody has judged" not in browser.get("/exports/").text
    answer = browser.post(reverse("datasets:export_create"), FORM | FLAGGED)
    assert answer.status_code == 422 and "Only admins may export keys and passwords" in answer.text
    answer = browser.post(API, WANTED | FLAGGED, content_type="application/json")
    assert answer.status_code == 403 and "Only admins may export keys and passwords" in answer.json()["detail"]
    assert not DatasetExport.objects.exists() and not JobRun.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "labeller", "operator"])
def test_nobody_else_gets_the_rows_of_such_an_export(as_admin, role):
    export = make_export(as_admin, name="Mine", format="sharegpt", **FLAGGED)
    browser = browser_of(role)
    page = browser.get(export.get_absolute_url()).text
    assert "only admins may download them" in page and rows_address(export) not in page
    answer = browser.get(rows_address(export))
    sentence = "This file may contain personal data, or keys that nobody has judged: only admins may download it."
    assert (answer.status_code, sentence in answer.text) == (403, True)
    answer = browser.get(f"{API}/{export.id}/files/ocl_Mine_sharegpt.train.jsonl")
    assert (answer.status_code, answer.json()["detail"]) == (403, sentence)
    zips = [browser.get(f"/exports/{export.id}/zip/"), browser.get(f"{API}/{export.id}/zip")]
    assert [answer.status_code for answer in zips] == [403, 403]
    refused = entries("download_refused")
    assert [(entry.object_id, entry.via) for entry in refused] == [(export.id, "page"), (export.id, "api")] * 2
    assert "open_findings" in content(browser.get(f"{API}/{export.id}/files/manifest.json"))


def test_the_command(capsys):
    call_command("export", *("--format", "sharegpt", "--name", "one", "--split", "1"))
    assert "Excluded: 1 (With a key or password that nobody has judged" in capsys.readouterr().out
    call_command("export", *("--format", "sharegpt", "--name", "two", "--split", "1", "--include", "flagged"))
    assert "1 row: With a redacted key or password" in capsys.readouterr().out
    [entry] = entries("exported_flagged")
    assert (entry.actor, entry.via) == ("command line", "command")
