"""Exports through the API: create, read, download."""

import pytest

from datasets.exports import exports
from datasets.models import DatasetExport
from jobs import execution
from jobs.models import JobRun
from tests.datasets.exports.export_helpers import make_export
from tests.factories import SampleFactory

API = "/api/v1/exports"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def create(browser, **options):
    return browser.post(API, {"name": "one", "format": "alpaca", **options}, "application/json")


def test_it_works(as_reviewer):
    SampleFactory(annotation_status="approved")
    answer = create(as_reviewer, train_split=1)
    assert answer.status_code == 202
    export = answer.json()
    assert (export["state"], export["name"], export["exported_by"]) == ("waiting", "one", "reviewer")
    assert export["options"]["train_split"] == 1
    execution.run_next()
    export = as_reviewer.get(f"{API}/{export['id']}").json()
    assert (export["state"], export["total_samples"], export["reasons"]) == ("ready", 1, [])
    for file in export["manifest"]["files"]:
        answer = as_reviewer.get(f"{API}/{export['id']}/files/{file['name']}")
        assert len(b"".join(answer.streaming_content)) == file["bytes"]
        assert answer["Content-Disposition"] == f'attachment; filename="{file["name"]}"'


def test_an_export_that_would_be_empty_is_refused_before_it_is_queued_and_names_samples(as_reviewer):
    SampleFactory(id="waiting")
    answer = create(as_reviewer)
    assert answer.status_code == 409
    assert answer.json()["reasons"] == [{"id": "waiting", "reason": "Not approved yet"}]
    assert not DatasetExport.objects.exists() and not JobRun.objects.exists()


def test_one_that_is_empty_once_rows_are_read_names_samples_too(as_reviewer):
    SampleFactory(id="undecided", annotation_status="approved")
    export_id = create(as_reviewer, task="gate").json()["id"]
    execution.run_next()
    export = as_reviewer.get(f"{API}/{export_id}").json()
    assert export["state"] == "refused"
    assert export["reasons"] == [{"id": "undecided", "reason": "Without a memory_gate decision"}]


def test_a_taken_name_is_refused_and_the_same_request_sent_again_is_not(as_reviewer):
    SampleFactory(annotation_status="approved")
    request, headers = {"name": "one", "format": "alpaca"}, {"Idempotency-Key": "first"}
    first, again = (as_reviewer.post(API, request, "application/json", headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (202, 202, "true")
    assert first.json()["id"] == again.json()["id"]
    refused = create(as_reviewer, format="sharegpt")
    assert refused.status_code == 409 and "already an export named one" in refused.json()["detail"]
    assert DatasetExport.objects.count() == 1


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"format": "xml"}, 422),
        ({"toolCalls": "hide"}, 422),
        ({"name": " "}, 409),
        ({"agent": "nobody"}, 409),
    ],
)
def test_impossible_wishes(as_reviewer, options, status):
    answer = create(as_reviewer, **options)
    assert (answer.status_code, bool(answer.json()["detail"])) == (status, True)
    assert not DatasetExport.objects.exists()


@pytest.mark.parametrize("is_link", [True, False])
def test_a_file_that_is_not_the_one_that_was_written_is_not_sent(as_reviewer, own_home, is_link):
    SampleFactory(annotation_status="approved")
    export = make_export(as_reviewer)
    file = exports.folder_of(export) / "README.md"
    assert as_reviewer.get(f"{API}/{export.id}/files/README.md").getvalue() == file.read_bytes()
    if is_link:
        data = file.read_bytes()
        (own_home / "elsewhere").write_bytes(data)
        file.unlink()
        file.symlink_to(own_home / "elsewhere")
    else:
        file.write_bytes(b"tampered")
    for address in (f"{API}/{export.id}/files/README.md", f"{API}/{export.id}/zip"):
        response = as_reviewer.get(address)
        assert response.status_code == 409 and "missing or was changed" in response.json()["detail"]
    assert as_reviewer.get(f"/exports/{export.id}/files/README.md").status_code == 409
