"""One export while it is built and afterwards, and its files."""

import hashlib
import re
from html import unescape

import orjson
import pytest
from django.urls import reverse

from datasets.models import DatasetExport, DatasetSample
from jobs.models import JobRun
from tests.datasets.exports.export_helpers import LIST, make_export
from tests.factories import ExportFactory, JobFactory, SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def files(export):
    return reverse("datasets:export_file", args=[export.id, "x"]).removesuffix("x")


def test_it_works(as_reviewer, own_home):
    SampleFactory(annotation_status="approved")
    export = make_export(as_reviewer)
    assert (export.state, export.exported_by, export.job_id) == ("ready", "reviewer", JobRun.objects.get().id)
    page = as_reviewer.get(export.get_absolute_url())
    assert "ocl_First-try_alpaca.train.jsonl" in page.text and "The test part is empty" in page.text
    answer = as_reviewer.get(f"{files(export)}ocl_First-try_alpaca.train.jsonl")
    data = b"".join(answer.streaming_content)
    assert orjson.loads(data)["output"] == "It failed on the last line."
    assert hashlib.sha256(data).hexdigest() in page.text
    listed = as_reviewer.get(LIST).text
    assert "First try" in listed and "1 export" in listed


def test_a_refused_export_says_why_and_links_to_the_samples(as_reviewer):
    SampleFactory(id="broken", annotation_status="approved", output="")
    SampleFactory(id="fine", annotation_status="approved")
    export = make_export(as_reviewer)
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "1 row breaks a rule" in page
    assert f'href="{reverse("datasets:sample_detail", args=["broken"])}"' in page
    assert "A text is empty (output)." in page
    assert reverse("datasets:sample_detail", args=["fine"]) not in page


def test_what_was_left_out_and_changed_is_said(as_reviewer):
    SampleFactory(annotation_status="approved", output="better")
    SampleFactory(id="waiting")
    page = as_reviewer.get(make_export(as_reviewer, format="sharegpt").get_absolute_url()).text
    assert "Not approved yet" in page and reverse("datasets:sample_detail", args=["waiting"]) in page
    assert "Reply as edited by a person" in page and "Rebuilt from the sample" in page


def test_samples_that_were_left_out_are_in_pages(as_reviewer):
    SampleFactory(annotation_status="approved")
    for number in range(45):
        SampleFactory(id=f"waiting-{number:02}")
    address, seen = make_export(as_reviewer).get_absolute_url(), []
    while address:
        page = as_reviewer.get(address).text
        seen.append(re.findall(r'href="/samples/(waiting-\d+)/"', page))
        link = re.search(r'href="(\?left_out=not_approved[^"#]+)#left-out-not_approved"', page)
        address = link and address.partition("?")[0] + unescape(link[1])
    assert [len(ids) for ids in seen] == [20, 20, 5]
    assert [name for ids in seen for name in ids] == [f"waiting-{number:02}" for number in range(45)]


def test_a_running_export_shows_how_far_it_is_and_asks_again(as_reviewer):
    job = JobFactory(kind="export", state="running", done=40, total=80, message="Writing rows")
    export = ExportFactory(state="running", job_id=job.id)
    whole = as_reviewer.get(export.get_absolute_url())
    assert "40 / 80" in whole.text and 'hx-trigger="every 1s, click"' in whole.text and "<html" in whole.text
    part = as_reviewer.get(export.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 200 and "40 / 80" in part.text and "<html" not in part.text


def test_polling_ends_when_the_export_does(as_reviewer):
    export = ExportFactory(state="refused", sentence="No samples are left to export.")
    part = as_reviewer.get(export.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 286
    assert "every 1s" not in part.text and "data-announce" in part.text


def test_an_export_whose_job_died_is_shown_as_failed(as_reviewer):
    job = JobFactory(kind="export", state="failed", message="The worker died 3 times at the same place.")
    page = as_reviewer.get(ExportFactory(state="running", job_id=job.id).get_absolute_url()).text
    assert "Failed" in page and "The worker died 3 times" in page and "every 1s" not in page


# Downloads


def test_a_download_is_a_file_and_nothing_else(as_reviewer, as_stranger):
    SampleFactory(annotation_status="approved")
    export = make_export(as_reviewer)
    answer = as_stranger.get(f"{files(export)}manifest.json")
    assert answer["Content-Disposition"] == 'attachment; filename="manifest.json"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Type"] == "application/json"
    assert int(answer["Content-Length"]) == len(b"".join(answer.streaming_content))


@pytest.mark.parametrize(
    "name",
    [
        "../manifest.json",
        "..%2Fmanifest.json",
        "%2e%2e%2f%2e%2e%2fsecret.key",
        "secret.key",
        "..",
        ".",
        "%00",
        "x/manifest.json",
    ],
)
def test_only_the_manifest_s_files_can_be_downloaded(as_reviewer, own_home, name):
    SampleFactory(annotation_status="approved")
    export = make_export(as_reviewer)
    for place in (own_home, own_home / "exports", own_home / export.file_path):
        (place / "secret.key").write_text("secret")
    assert as_reviewer.get(files(export) + name).status_code == 404
    assert as_reviewer.get(f"/api/v1{files(export)}{name}").status_code == 404


def test_an_export_that_is_not_ready_has_no_files(as_reviewer, own_home):
    SampleFactory(annotation_status="approved")
    export = make_export(as_reviewer)
    DatasetExport.objects.update(state="running")
    assert as_reviewer.get(f"{files(export)}manifest.json").status_code == 404
    assert as_reviewer.get("/exports/nothing/files/manifest.json").status_code == 404
    assert as_reviewer.get("/exports/nothing/").status_code == 404


def test_the_number_of_queries_does_not_grow(as_reviewer, django_assert_num_queries):
    refused = ExportFactory(state="refused")
    as_reviewer.get(refused.get_absolute_url())  # the audit log has its entry from here on
    for count in (1, 30):
        reasons = [{"id": f"r{number}", "reason": "empty"} for number in range(count)]
        DatasetExport.objects.filter(id=refused.id).update(reasons_json=orjson.dumps(reasons).decode())
        DatasetSample.objects.all().delete()
        for reason in reasons:
            SampleFactory(id=reason["id"])
        with django_assert_num_queries(7):
            as_reviewer.get(refused.get_absolute_url())
