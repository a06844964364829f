"""The list of exports with its form, one export while it is built and afterwards, and its files."""

import hashlib

import orjson
import pytest
from django.test import Client
from django.urls import reverse

from datasets.models import DatasetExport, DatasetSample
from operations import tasks
from operations.models import JobRun
from tests.factories import ExportFactory, JobFactory, SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]
LIST = "/exports/"
WANTED = {
    "name": "First try",
    "format": "alpaca",
    "task": "reply",
    "only_approved": "on",
    "train_split": "1",
    "seed": "0",
    "row_characters": "32000",
}


@pytest.fixture
def home(settings, tmp_path, ada):
    settings.HOME_DIR = tmp_path
    return tmp_path


def make(browser, **changes):
    """Ask for an export on the page and let the worker build it."""
    answer = browser.post(reverse("operations:export_create"), WANTED | changes)
    assert answer.status_code == 302, answer.text
    tasks.deliver.call(JobRun.objects.get().id)
    return DatasetExport.objects.get()


def files(export):
    return reverse("operations:export_file", args=[export.id, "x"]).removesuffix("x")


def test_it_works(as_reviewer, home):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer)
    assert (export.state, export.exported_by, export.job_id) == ("ready", "reviewer", JobRun.objects.get().id)
    page = as_reviewer.get(export.get_absolute_url())
    assert "alpaca.train.jsonl" in page.text and "The test side is empty" in page.text
    answer = as_reviewer.get(f"{files(export)}alpaca.train.jsonl")
    data = b"".join(answer.streaming_content)
    assert orjson.loads(data)["output"] == "It failed on the last line."
    assert hashlib.sha256(data).hexdigest() in page.text
    listed = as_reviewer.get(LIST).text
    assert "First try" in listed and "1 export" in listed


def test_the_list_is_empty_and_says_how_to_fill_it(as_reviewer):
    page = as_reviewer.get(LIST).text
    assert "There are no exports yet" in page and "Make an export" in page


def test_only_labellers_may_make_one(as_stranger):
    assert "Make an export" not in as_stranger.get(LIST).text
    assert as_stranger.post(reverse("operations:export_create"), WANTED).status_code == 403
    assert not DatasetExport.objects.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "This field is required."),
        ({"format": "csv"}, "is not one of the available choices"),
        ({"train_split": "2"}, "less than or equal to 1"),
        ({"train_split": "nan"}, "Enter a number."),
        ({"agent": "nobody"}, "is not one of the available choices"),
        ({"name": "a\u2028b"}, "in one line"),
    ],
)
def test_a_form_that_does_not_fit_comes_back_with_what_was_typed(as_reviewer, change, words):
    answer = as_reviewer.post(reverse("operations:export_create"), WANTED | {"seed": "mine"} | change)
    assert answer.status_code == 422
    assert words in answer.text and 'value="mine"' in answer.text
    assert not DatasetExport.objects.exists()


def test_the_form_says_how_many_samples_there_are_and_asks_for_none_that_would_be_empty(as_reviewer):
    SampleFactory(id="waiting")
    assert "No sample is approved yet" in as_reviewer.get(LIST).text
    answer = as_reviewer.post(reverse("operations:export_create"), WANTED)
    assert answer.status_code == 422 and "Not approved yet: 1" in answer.text
    assert not DatasetExport.objects.exists() and not JobRun.objects.exists()
    SampleFactory(annotation_status="approved")
    page = as_reviewer.get(LIST).text
    assert "1 approved sample can be exported." in page and "No sample is approved yet" not in page


def test_a_taken_name_is_refused_and_one_that_came_to_nothing_is_free(as_reviewer):
    SampleFactory(annotation_status="approved")
    make(as_reviewer)
    answer = as_reviewer.post(reverse("operations:export_create"), WANTED | {"name": " First try "})
    assert answer.status_code == 422
    assert "There is an export called First try already. Choose another name." in answer.text
    assert DatasetExport.objects.count() == 1
    DatasetExport.objects.update(state="failed")
    assert as_reviewer.post(reverse("operations:export_create"), WANTED).status_code == 302


def test_a_refused_export_says_why_and_links_to_the_samples(as_reviewer):
    SampleFactory(id="broken", annotation_status="approved", output="")
    SampleFactory(id="fine", annotation_status="approved")
    export = make(as_reviewer)
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "1 row breaks a rule" in page
    assert f'href="{reverse("datasets:sample_detail", args=["broken"])}"' in page
    assert "A text is empty (output)." in page
    assert reverse("datasets:sample_detail", args=["fine"]) not in page


def test_what_was_left_out_and_changed_is_said(as_reviewer):
    SampleFactory(annotation_status="approved", output="better")
    SampleFactory(id="waiting")
    page = as_reviewer.get(make(as_reviewer, format="sharegpt").get_absolute_url()).text
    assert "Not approved yet" in page and reverse("datasets:sample_detail", args=["waiting"]) in page
    assert "Reply as a person edited it" in page and "Rebuilt from the sample" in page


def test_a_running_export_shows_how_far_it_is_and_asks_again(as_reviewer):
    job = JobFactory(kind="export", state="running", done=40, total=80, message="Writing rows")
    export = ExportFactory(state="running", job_id=job.id)
    whole = as_reviewer.get(export.get_absolute_url())
    assert "40 / 80" in whole.text and 'hx-trigger="every 1s, click"' in whole.text and "<html" in whole.text
    part = as_reviewer.get(export.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 200 and "40 / 80" in part.text and "<html" not in part.text


def test_polling_ends_when_the_export_does(as_reviewer):
    export = ExportFactory(state="refused", sentence="Nothing is left to export.")
    part = as_reviewer.get(export.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 286
    assert "every 1s" not in part.text and "data-announce" in part.text


def test_an_export_whose_job_died_is_shown_as_failed(as_reviewer):
    job = JobFactory(kind="export", state="failed", message="Its worker died 3 times at the same place.")
    page = as_reviewer.get(ExportFactory(state="running", job_id=job.id).get_absolute_url()).text
    assert "Failed" in page and "Its worker died 3 times" in page and "every 1s" not in page


def test_another_one_like_it_starts_with_the_same_choices(as_reviewer):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer, seed="mine", only_approved="", keep_text="on")
    page = as_reviewer.get(export.get_absolute_url())
    form = as_reviewer.get(LIST + page.context["again"]).context["form"]
    assert form["seed"].value() == "mine" and form["name"].value() is None  # that name is taken
    DatasetExport.objects.update(state="refused")
    again = as_reviewer.get(export.get_absolute_url()).context["again"]
    assert as_reviewer.get(LIST + again).context["form"]["name"].value() == "First try"
    boxes = {name: "checked" in str(form[name]) for name in ("only_approved", "keep_text")}
    assert boxes == {"only_approved": False, "keep_text": True}
    fresh = as_reviewer.get(LIST, {"agent": "ada"}).context["form"]
    assert "checked" in str(fresh["only_approved"])


# Downloads


def test_a_download_is_a_file_and_nothing_else(as_reviewer, as_stranger):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer)
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
def test_only_the_manifest_s_files_can_be_downloaded(as_reviewer, home, name):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer)
    for place in (home, home / "exports", home / export.file_path):
        (place / "secret.key").write_text("secret")
    assert as_reviewer.get(files(export) + name).status_code == 404


def test_an_export_that_is_not_ready_has_no_files(as_reviewer, home):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer)
    DatasetExport.objects.update(state="running")
    assert as_reviewer.get(f"{files(export)}manifest.json").status_code == 404
    assert as_reviewer.get("/exports/nothing/files/manifest.json").status_code == 404
    assert as_reviewer.get("/exports/nothing/").status_code == 404


def test_somebody_who_is_not_signed_in_gets_nothing(as_reviewer):
    SampleFactory(annotation_status="approved")
    export = make(as_reviewer)
    for address in (LIST, export.get_absolute_url(), f"{files(export)}manifest.json"):
        assert Client().get(address).status_code == 302


# Budgets


def test_the_number_of_queries_does_not_grow(as_reviewer, django_assert_num_queries):
    for count in (1, 30):
        ExportFactory.create_batch(count, state="ready")
        with django_assert_num_queries(7):
            as_reviewer.get(LIST)
    refused = ExportFactory(state="refused")
    as_reviewer.get(refused.get_absolute_url())  # the audit log has its entry from here on
    for count in (1, 30):
        reasons = [{"id": f"r{number}", "reason": "empty"} for number in range(count)]
        DatasetExport.objects.filter(id=refused.id).update(reasons_json=orjson.dumps(reasons).decode())
        DatasetSample.objects.all().delete()
        for reason in reasons:
            SampleFactory(id=reason["id"])
        with django_assert_num_queries(6):
            as_reviewer.get(refused.get_absolute_url())


def test_the_list_goes_on_page_by_page(as_reviewer):
    for number in range(60):
        ExportFactory(export_name=f"export no {number:02}.", exported_at=number)
    first = as_reviewer.get(LIST)
    assert "export no 59." in first.text and "export no 09." not in first.text
    rest = as_reviewer.get(LIST, {"after": first.context["page"].next})
    assert "export no 09." in rest.text and "export no 59." not in rest.text
