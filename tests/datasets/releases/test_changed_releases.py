"""Releases that somebody changed by SQL: no check calls them intact, and no export has them."""

import hashlib
import json
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from datasets import seals
from datasets.models import DatasetExport, ReleaseSeal
from datasets.releases.release import release_here
from datasets.releases.verification import verify
from openclaw_web.errors import Refused
from operations.models import BackupRun
from people.models import AuditEntry
from tests.conftest import BACKEND
from tests.datasets.exports.export_helpers import build_export
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release
from tests.datasets.releases.release_pages import open_page, run_jobs, send_form

pytestmark = pytest.mark.django_db
FIRST = "(SELECT id FROM dataset_versions WHERE number = 1)"
OF_FIRST = f"version_id = {FIRST}"
COPY = "agent_id, session_id, turn_number, side, status, label_id, content_hash"
ADD = f"INSERT INTO dataset_members (id, version_id, sample_id, {COPY}) SELECT 999, version_id, %s, {COPY} "
ADD += f"FROM dataset_members WHERE {OF_FIRST} AND sample_id = 'x2-1'"
OTHER_SEAL = f"(SELECT contents FROM release_seals WHERE NOT {OF_FIRST})"
# What somebody does to release 1 of two, and the sentence about it.
CHANGES = {
    "removed": (f"DELETE FROM dataset_members WHERE {OF_FIRST} AND sample_id = 'x2-1'", "member x2-1 was removed"),
    "added": (ADD % "'x9-1'", "member x9-1 was added"),
    "doubled": (
        "ALTER TABLE dataset_members RENAME TO members; CREATE TABLE dataset_members AS SELECT * FROM members;"
        + ADD % "sample_id",
        "member x2-1 was added",
    ),
    "side": (
        f"UPDATE dataset_members SET side = 'test' WHERE {OF_FIRST} AND sample_id = 'x3-1'",
        "side of the member x3-1 was train and is test now",
    ),
    "content": (
        f"UPDATE dataset_members SET content_hash = 'beef' WHERE {OF_FIRST} AND sample_id = 'x1-1'",
        "content_hash of the member x1-1",
    ),
    "verdict": (
        f"UPDATE dataset_members SET label_id = 'l9' WHERE {OF_FIRST} AND sample_id = 'x4-1'",
        "label_id of the member x4-1 was – and is l9 now",
    ),
    "turn": (
        f"UPDATE dataset_members SET turn_number = 7 WHERE {OF_FIRST} AND sample_id = 'x4-1'",
        "turn_number of the member x4-1 was 1 and is 7 now",
    ),
    "bytes": (
        f"UPDATE dataset_members SET session_id = CAST(x'ff00' AS TEXT) WHERE {OF_FIRST} AND sample_id = 'x4-1'",
        "session_id of the member x4-1 was s4",
    ),
    "order": (
        f"UPDATE dataset_members SET id = id + 500 WHERE {OF_FIRST} AND sample_id = 'x0-1'",
        "id of the member x0-1 was",
    ),
    "swapped": (
        f"DELETE FROM dataset_members WHERE {OF_FIRST} AND sample_id = 'x3-1';"
        f"UPDATE dataset_members SET version_id = {FIRST} WHERE NOT {OF_FIRST} AND sample_id = 'x3-1'",
        "id of the member x3-1 was",
    ),
    "options": (
        "UPDATE dataset_versions SET options_json = json_set(options_json, '$.seed', '9') WHERE number = 1",
        "Its options_json was",
    ),
    "counts": ("UPDATE dataset_versions SET counts_json = '{}' WHERE number = 1", "Its counts_json was"),
    "number": ("UPDATE dataset_versions SET number = 9 WHERE number = 1", "Its number was 1 and is 9 now"),
    "author": (
        "UPDATE dataset_versions SET released_by = 'bo' WHERE number = 1",
        "Its released_by was ann and is bo now",
    ),
    "time": ("UPDATE dataset_versions SET released_at = 5 WHERE number = 1", "Its released_at was"),
    "notes": ("UPDATE dataset_versions SET notes = 'fine' WHERE number = 1", "Its notes was  and is fine now"),
    "lineage": ("UPDATE dataset_versions SET remade_from = 3 WHERE number = 1", "Its remade_from was – and is 3 now"),
    "dataset": (
        "UPDATE dataset_versions SET dataset_id = (SELECT id FROM datasets WHERE name = 'other') WHERE number = 1",
        "Its dataset_id was",
    ),
    "checksum": ("UPDATE dataset_versions SET checksum = 'beef' WHERE number = 1", "Its checksum was"),
    "seal": (f"UPDATE release_seals SET sha256 = 'beef' WHERE {OF_FIRST}", "is not the one in the audit log"),
    "contents": (f"UPDATE release_seals SET contents = x'beef' WHERE {OF_FIRST}", "are not those of its SHA-256"),
    "another seal": (
        f"UPDATE release_seals SET contents = {OTHER_SEAL} WHERE {OF_FIRST}",
        "are not those of its SHA-256",
    ),
    "text": (f"UPDATE release_seals SET contents = 'text' WHERE {OF_FIRST}", "are not those of its SHA-256"),
    "no seal": (f"DELETE FROM release_seals WHERE {OF_FIRST}", "It has no seal"),
}


@pytest.fixture
def version(home):
    """The first of two releases with the same members."""
    for number in range(6):
        add_session(number)
    make_dataset("other")
    dataset = make_dataset(train_split=1)
    version = make_release(dataset)
    make_release(dataset)
    return version


def change(statements):
    with connection.cursor() as cursor:
        for statement in statements.split(";"):
            cursor.execute(statement)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_release_is_found_and_exported_by_nobody(version, name):
    build_export("alpaca", name="before", release=version.id)
    statement, sentence = CHANGES[name]
    change(statement)
    version.refresh_from_db()
    report = verify(version)
    assert not report["is_intact"] and sentence in report["message"], report["message"]
    with pytest.raises(Refused) as refused:
        build_export("alpaca", name="after", release=version.id)
    assert sentence in refused.value.sentence and "nothing is exported" in refused.value.sentence
    assert DatasetExport.objects.get(export_name="after").state == "refused"


def test_a_release_and_its_export_have_the_checksum_of_the_audit_log(version):
    seal = ReleaseSeal.objects.get(version=version)
    entries = AuditEntry.objects.filter(action="released")
    assert [entry.detail["seal"] for entry in entries if entry.detail["version"] == version.id] == [seal.sha256]
    export = build_export("alpaca", release=version.id)
    assert export.manifest["release"]["seal"] == seal.sha256
    assert hashlib.sha256(b"".join(seals.unpack(seal))).hexdigest() == seal.sha256
    assert verify(version)["seal"] == seal.sha256


def test_releases_are_sealed_later_where_their_own_checksum_is_right(version):
    """The migration seals the releases of a home that has no seals."""
    seals_before = dict(ReleaseSeal.objects.values_list("version_id", "sha256"))
    ReleaseSeal.objects.all().delete()
    second = version.dataset.versions.get(number=2)
    second.members.filter(sample_id="x3-1").update(side="test")
    import_module("datasets.migrations.0005_49bab225").add_seals(apps, SimpleNamespace(connection=connection))
    [seal] = ReleaseSeal.objects.all()
    assert (seal.version_id, seal.is_later, seal.sha256) == (version.id, True, seals_before[version.id])
    assert verify(version)["message"].endswith("Its seal was added after the release.")
    assert "It has no seal" in verify(second)["change"]
    with pytest.raises(Refused, match="It has no seal"):
        build_export("alpaca", release=second.id)
    assert AuditEntry.objects.get(action="sealed").detail["seal"] == seal.sha256


def test_a_column_is_covered_by_the_seals_made_since_it_is_there(version, monkeypatch):
    list_columns = seals.list_columns
    with monkeypatch.context() as patch:
        patch.setattr(seals, "list_columns", lambda model: [n for n in list_columns(model) if n != "remade_from"])
        before = make_release(version.dataset)
    assert before.number == 3 and verify(before)["is_current"]
    version.dataset.versions.update(remade_from=7)
    assert verify(before)["is_current"] and not verify(version)["is_intact"]
    with monkeypatch.context() as patch:  # and one that is gone is not compared
        patch.setattr(seals, "list_columns", lambda model: [n for n in list_columns(model) if n != "remade_from"])
        assert verify(version)["is_current"]


@pytest.fixture
def as_labeller(reviewer):
    browser = Client()
    browser.force_login(reviewer, backend=BACKEND)
    return browser


def test_an_admin_releases_anew_from_the_members_as_they_are(version, as_admin, as_labeller):
    page = (version.dataset_id, 1)
    address = reverse("datasets:version_anew", args=page)
    assert as_labeller.post(address).status_code == 403
    send_form(as_admin, "version_anew", *page)
    assert version.dataset.versions.count() == 2  # it is as it was released
    change(
        f"DELETE FROM dataset_members WHERE sample_id = 'x2-1' AND {OF_FIRST};"
        f"UPDATE dataset_members SET side = 'test', label_id = 'l9' WHERE sample_id = 'x3-1' AND {OF_FIRST}"
    )
    assert address not in open_page(as_admin, "version_detail", *page)
    send_form(as_admin, "version_verify", *page)
    assert address in open_page(as_admin, "version_detail", *page)
    assert address not in open_page(as_labeller, "version_detail", *page)
    send_form(as_admin, "version_anew", *page)
    anew = version.dataset.versions.get(number=3)
    assert anew.remade_from == 1 and "release 1" in anew.notes and "member x2-1 was removed" in anew.notes
    members = {member.sample_id: (member.side, member.label_id) for member in anew.members.all()}
    assert members == {f"x{number}-1": ("train", "l9" if number == 3 else None) for number in (0, 1, 3, 4, 5)}
    assert verify(anew)["is_intact"]
    assert build_export("alpaca", release=anew.id).manifest["release"]["notes"] == anew.notes


@pytest.mark.parametrize("value", ["CAST(x'ff00' AS TEXT)", "x'ff00'"])
@pytest.mark.parametrize("column", ["session_id", "sample_id"])
def test_members_that_are_no_text_are_left_out_of_a_release_anew(version, column, value):
    change(f"UPDATE dataset_members SET {column} = {value} WHERE {OF_FIRST} AND sample_id = 'x4-1'")
    anew = release_here(version.dataset, by="ann", remade_from=1)
    assert {member.sample_id for member in anew.members.all()} == {f"x{number}-1" for number in (0, 1, 2, 3, 5)}
    [group] = anew.counts["excluded"]
    assert (group["reason"], group["count"]) == ("unreadable", 1)
    assert verify(anew)["is_intact"]
    version.dataset.versions.filter(number__gt=1).delete()
    again = make_release(version.dataset)  # compared with the changed one
    assert again.counts["difference"]["same"] == (6 if column == "session_id" else 5)


def test_programs_release_anew(version, as_admin, as_labeller):
    address = f"/api/v1/datasets/{version.dataset_id}/versions/1"
    change(CHANGES["side"][0])
    answers = [
        browser.post(f"{address}/anew", {"notes": "Mended."}, content_type="application/json").status_code
        for browser in (as_labeller, as_admin)
    ]
    run_jobs()
    assert answers == [403, 202]
    anew = as_admin.get(f"/api/v1/datasets/{version.dataset_id}/versions/3").json()
    assert anew["notes"].startswith("Mended.\nReleased anew") and anew["remade_from"] == 1
    assert anew["seal"]["sha256"] != as_admin.get(address).json()["seal"]["sha256"]


@pytest.mark.parametrize("place", ["export", "backup"])
def test_another_checksum_in_a_manifest_is_found(version, place):
    sha256 = ReleaseSeal.objects.get(version=version).sha256
    export = build_export("alpaca", release=version.id)
    manifest = json.dumps({"releases": {version.id: sha256}})
    backup = BackupRun.objects.create(id="b", created_at=1, archive_path="/b.tar.zst", manifest_json=manifest)
    places = "the audit log, the manifest of the export one, the manifest of the backup b.tar.zst."
    assert f"Its SHA-256 is the same in {places}" in verify(version)["message"]
    row = export if place == "export" else backup
    row.manifest_json = row.manifest_json.replace(sha256, "beef")
    row.save()
    assert f"is not the one in the manifest of the {place}" in verify(version)["change"]
