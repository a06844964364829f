"""Pages and API of datasets: create, release, compare, verify, export, and who has the files."""

import orjson
import pytest
from django.urls import reverse

from datasets.models import Benchmark, Dataset, DatasetExport, DatasetSample, VersionTaint
from jobs import execution
from jobs.models import JobRun
from people.models import AuditEntry
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of

pytestmark = pytest.mark.django_db
DATASET = {
    "name": "Support",
    "task": "reply",
    "only_approved": "on",
    "split_by": "session",
    "train_split": "0.5",
    "validation_split": "0",
    "seed": "0",
}


def open_page(browser, name, *args, **query):
    answer = browser.get(reverse(f"datasets:{name}", args=args), query)
    assert answer.status_code == 200, answer.text
    return answer.text


def run_jobs():
    while execution.run_next():
        pass


@pytest.fixture
def samples(home):
    for number in range(20):
        add_session(number)


def test_a_dataset_is_created_and_released_on_its_pages(as_reviewer, samples):
    assert "No datasets yet" in open_page(as_reviewer, "dataset_list")
    answer = as_reviewer.post(reverse("datasets:dataset_create"), DATASET)
    dataset = Dataset.objects.get()
    assert answer.status_code == 302 and answer.url == dataset.get_absolute_url()
    assert "No release yet" in open_page(as_reviewer, "dataset_detail", dataset.id)
    as_reviewer.post(reverse("datasets:dataset_release", args=[dataset.id]), {"notes": "the first"})
    run_jobs()
    DatasetSample.objects.filter(id="x1-1").update(annotation_status="rejected")
    as_reviewer.post(reverse("datasets:dataset_release", args=[dataset.id]))
    run_jobs()
    page = open_page(as_reviewer, "version_detail", dataset.id, 2)
    assert "Compared with release 1" in page and "Rejected" in page
    assert "x1-1" in open_page(as_reviewer, "difference_list", dataset.id, 2, "gone")
    assert "x2-1" not in open_page(as_reviewer, "difference_list", dataset.id, 2, "gone")
    sides = sides_of(dataset.versions.get(number=2))
    tested = next(sample for sample, side in sides.items() if side == "test")
    trained = next(sample for sample, side in sides.items() if side == "train")
    members = open_page(as_reviewer, "member_list", dataset.id, 2, side="test")
    assert f">{tested}<" in members and f">{trained}<" not in members
    assert "Support" in open_page(as_reviewer, "dataset_list")
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"dataset_created", "dataset_release_started", "released"} <= actions


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": " "}, "This field is required"),
        ({"split_by": "time"}, "Choose the day of the split"),
        ({"train_split": "0.8", "validation_split": "0.4"}, "together must be at most 1"),
    ],
)
def test_a_dataset_with_wrong_options_is_not_created(as_reviewer, home, changes, sentence):
    answer = as_reviewer.post(reverse("datasets:dataset_create"), DATASET | changes)
    assert answer.status_code == 422 and sentence in answer.text
    assert not Dataset.objects.exists()


def test_a_name_is_used_once(as_reviewer, home):
    make_dataset("Support")
    answer = as_reviewer.post(reverse("datasets:dataset_create"), DATASET)
    assert answer.status_code == 422 and "already a dataset named Support" in answer.text


def test_the_page_of_a_release_verifies_it(as_reviewer, samples):
    version = make_release(make_dataset())
    as_reviewer.post(reverse("datasets:version_verify", args=[version.dataset_id, 1]))
    run_jobs()
    assert "20 members are as released, and so are their samples." in open_page(
        as_reviewer, "version_detail", version.dataset_id, 1
    )
    version.members.filter(sample_id="x4-1").update(side="validation")
    as_reviewer.post(reverse("datasets:version_verify", args=[version.dataset_id, 1]))
    run_jobs()
    page = open_page(as_reviewer, "version_detail", version.dataset_id, 1)
    assert "The release was changed" in page and "x4-1" in page


def test_taints_name_the_people_who_downloaded(as_reviewer, samples, reviewer):
    version = make_release(make_dataset())
    fields = FORM_FIELDS | {"release": version.id}
    assert as_reviewer.post(reverse("datasets:export_create"), fields).status_code == 302
    run_jobs()
    export = DatasetExport.objects.get()
    assert export.version_id == version.id
    DatasetSample.objects.filter(id="x7-1").update(annotation_status="rejected")
    as_reviewer.post(reverse("datasets:version_check", args=[version.dataset_id, 1]))
    run_jobs()
    assert VersionTaint.objects.get().reason == "rejected"
    page = open_page(as_reviewer, "version_detail", version.dataset_id, 1)
    assert "Members that should not be used any more" in page and reviewer.username in page
    assert "x7-1" in open_page(as_reviewer, "taint_list", version.dataset_id, 1)
    uses = open_page(as_reviewer, "sample_uses", "x7-1")
    assert "First try" in uses and "release 1" in uses
    answer = as_reviewer.post(reverse("datasets:export_again", args=[export.id]))
    assert answer.status_code == 302
    run_jobs()
    again = DatasetExport.objects.exclude(id=export.id).get()
    assert (again.export_name, again.state, again.total_samples) == ("First try 2", "ready", export.total_samples - 1)
    DatasetSample.objects.filter(id="x7-1").update(annotation_status="approved")
    as_reviewer.post(reverse("datasets:version_check", args=[version.dataset_id, 1]))
    run_jobs()
    assert not VersionTaint.objects.exists()


def test_viewers_read_and_change_nothing(as_stranger, samples):
    version = make_release(make_dataset())
    assert as_stranger.get(version.get_absolute_url()).status_code in (200, 302, 403)


def test_the_api_has_what_the_pages_have(as_reviewer, samples):
    answer = as_reviewer.post(
        "/api/v1/datasets", {"name": "api", "options": {"train_split": 0.5}}, content_type="application/json"
    )
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    answer = as_reviewer.post(
        f"/api/v1/datasets/{dataset['id']}/versions", {"notes": "n"}, content_type="application/json"
    )
    assert answer.status_code == 202, answer.text
    run_jobs()
    base = f"/api/v1/datasets/{dataset['id']}/versions/1"
    version = as_reviewer.get(base).json()
    assert (version["number"], version["member_count"], version["notes"]) == (1, 20, "n")
    first = as_reviewer.get(f"{base}/members", {"limit": 15}).json()
    rest = as_reviewer.get(f"{base}/members", {"limit": 15, "after": first["next"]}).json()
    assert len(first["items"]) + len(rest["items"]) == 20 and rest["next"] is None
    tested = as_reviewer.get(f"{base}/members", {"side": "test"}).json()["items"]
    assert len(tested) == version["counts"]["sides"]["test"]
    assert as_reviewer.get(f"{base}/difference").status_code == 409
    as_reviewer.post(f"/api/v1/datasets/{dataset['id']}/versions", {}, content_type="application/json")
    run_jobs()
    difference = as_reviewer.get(f"/api/v1/datasets/{dataset['id']}/versions/2/difference").json()
    assert (difference["same"], difference["moved"]["count"], difference["before"]) == (20, 0, 1)
    job = as_reviewer.post(f"{base}/verify", content_type="application/json").json()
    run_jobs()
    assert as_reviewer.get(f"/api/v1/operations/jobs/{job['id']}").json()["state"] == "finished"
    uses = as_reviewer.get("/api/v1/samples/x3-1/uses").json()
    assert [release["number"] for release in uses["releases"]] == [2, 1]
    assert [item["name"] for item in as_reviewer.get("/api/v1/datasets").json()["items"]] == ["api"]
    assert as_reviewer.get("/api/v1/datasets/none").status_code == 404


def test_a_benchmark_is_uploaded_and_compared(as_reviewer, samples, tmp_path):
    question = "Question " + " ".join(f"s5t1w{word}" for word in range(20))
    file = tmp_path / "bench.jsonl"
    lines = [{"question": question, "choices": ["a", "b"]}, "A text of five words only"]
    file.write_bytes(b"\n\n".join(map(orjson.dumps, lines)) + b"\n")
    with file.open("rb") as opened:
        answer = as_reviewer.post(reverse("datasets:benchmark_add"), {"name": "mmlu", "file": opened})
    assert answer.status_code == 302, answer.text
    benchmark = Benchmark.objects.get()
    assert benchmark.questions == 2 and "mmlu" in open_page(as_reviewer, "benchmark_list")
    version = make_release(make_dataset())
    address = reverse("datasets:version_compare", args=[version.dataset_id, 1])
    assert as_reviewer.post(address, {"benchmark": benchmark.id}).status_code == 302
    run_jobs()
    result = JobRun.objects.get(kind="benchmark_report").result
    assert (result["samples"], result["above"]) == (20, 1)
    assert result["listed"] == [{"sample": "x5-1", "share": 1.0}]
    cleaned = make_release(make_dataset("clean", benchmark=benchmark.id))
    assert "x5-1" not in sides_of(cleaned) and cleaned.member_count == 19
    assert {group["reason"]: group["samples"] for group in cleaned.counts["excluded"]} == {"contaminated": ["x5-1"]}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"q": "one two three four five"}\nno json\n', "Line 2 is no JSON object or text"),
        (b"[1, 2]\n", "Line 1 is no JSON object or text"),
        (b'{"q": "short"}\n', "no text of five words"),
    ],
)
def test_a_file_that_is_no_benchmark_is_refused_and_nothing_is_stored(as_reviewer, home, tmp_path, content, sentence):
    file = tmp_path / "bench.jsonl"
    file.write_bytes(content)
    with file.open("rb") as opened:
        answer = as_reviewer.post(reverse("datasets:benchmark_add"), {"name": "bad", "file": opened})
    assert answer.status_code == 422 and sentence in answer.text
    assert not Benchmark.objects.exists()
    answer = as_reviewer.post(
        "/api/v1/benchmarks", {"name": "bad", "text": content.decode()}, content_type="application/json"
    )
    assert answer.status_code == 409 and sentence in answer.json()["detail"]
    assert not Benchmark.objects.exists()
