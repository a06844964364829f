"""The benchmarks: their list, the upload of one, and the comparison of a release with it."""

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from datasets.models import Benchmark
from jobs.models import JobRun
from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release, sides_of
from tests.datasets.releases.release_pages import list_samples, open_next, open_page, send_form

pytestmark = pytest.mark.django_db
LIST = reverse("datasets:benchmark_list")
QUESTION = "Question " + " ".join(f"s5t1w{word}" for word in range(20))
LINES = [{"question": QUESTION, "choices": ["a", "b"]}, "A text of five words only"]


def upload(browser, content, name="mmlu"):
    return send_form(browser, "benchmark_add", name=name, file=SimpleUploadedFile("bench.jsonl", content))


def write_lines(*lines):
    return b"\n\n".join(map(orjson.dumps, lines)) + b"\n"


def test_without_benchmarks_it_says_so(as_reviewer, db):
    page = open_page(as_reviewer, "benchmark_list")
    assert "No benchmarks yet." in page and "Upload" in page


def test_an_uploaded_benchmark_is_listed_without_its_questions(as_reviewer, home):
    answer = upload(as_reviewer, write_lines(*LINES))
    assert (answer.status_code, answer.url) == (302, LIST)
    page = as_reviewer.get(LIST)
    assert "mmlu 2 reviewer" in read_text(page) and "s5t1w1" not in page.text
    assert b"s5t1w1" not in bytes(Benchmark.objects.get().grams)


def test_a_release_is_compared_and_a_dataset_leaves_its_samples_out(as_reviewer, samples):
    upload(as_reviewer, write_lines(*LINES))
    benchmark, version = Benchmark.objects.get(), make_release(make_dataset())
    answer = send_form(as_reviewer, "version_compare", version.dataset_id, 1, benchmark=benchmark.id)
    job = JobRun.objects.get(kind="benchmark_report")
    assert answer.status_code == 302 and answer.url == job.get_absolute_url()
    assert (job.result["samples"], job.result["above"]) == (20, 1)
    assert job.result["listed"] == [{"sample": "x5-1", "share": 1.0}]
    cleaned = make_release(make_dataset("clean", benchmark=benchmark.id))
    assert "x5-1" not in sides_of(cleaned) and cleaned.member_count == 19
    page = open_page(as_reviewer, "version_detail", cleaned.dataset_id, 1)
    assert list_samples(page) == ["x5-1"] and "Left out" in page


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"q": "one two three four five"}\nno json\n', "Line 2 is no JSON object or text"),
        (b"[1, 2]\n", "Line 1 is no JSON object or text"),
        (b'{"q": "short"}\n', "no text of five words"),
    ],
)
def test_a_file_that_is_no_benchmark_is_refused_and_nothing_is_stored(as_reviewer, home, content, sentence):
    answer = upload(as_reviewer, content)
    assert answer.status_code == 422 and sentence in answer.text
    answer = as_reviewer.post(
        "/api/v1/benchmarks", {"name": "bad", "text": content.decode()}, content_type="application/json"
    )
    assert answer.status_code == 409 and sentence in answer.json()["detail"]
    assert not Benchmark.objects.exists()


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_end_as_they_do_anywhere(as_reviewer, home, end):
    content = end.join(map(orjson.dumps, [*LINES, "", "x" * 1_000_000, *LINES])) + end
    assert upload(as_reviewer, content).status_code == 302
    answer = as_reviewer.post(
        "/api/v1/benchmarks", {"name": "api", "text": content.decode()}, content_type="application/json"
    )
    assert answer.status_code == 201
    page, api = Benchmark.objects.order_by("id")
    assert (page.questions, page.sha256, page.grams) == (6, api.sha256, api.grams) and api.questions == 6


def test_a_line_that_is_too_long_or_a_name_of_nothing_is_refused(as_reviewer, home):
    answer = upload(as_reviewer, b'"' + b"word " * 900_000)
    assert answer.status_code == 422 and "Line 1 is too long" in answer.text
    answer = as_reviewer.post("/api/v1/benchmarks", {"name": " ", "text": "{}"}, content_type="application/json")
    assert answer.status_code == 409 and answer.json()["detail"] == "Enter a name for the benchmark."


def test_a_form_without_a_file_or_with_a_taken_name_is_refused(as_reviewer, home):
    answer = send_form(as_reviewer, "benchmark_add", name="mmlu")
    assert answer.status_code == 422 and "This field is required" in answer.text
    upload(as_reviewer, write_lines(*LINES))
    answer = upload(as_reviewer, write_lines("Another text of five words"))
    assert answer.status_code == 422 and "mmlu" in answer.text
    assert Benchmark.objects.count() == 1


def test_viewers_read_the_list_and_upload_nothing(as_stranger, home):
    page = open_page(as_stranger, "benchmark_list")
    assert "New benchmark" not in page and f'href="{reverse("datasets:dataset_list")}"' in page
    assert upload(as_stranger, write_lines(*LINES)).status_code == 403
    assert not Benchmark.objects.exists()


def test_benchmarks_continue_on_a_next_page(as_stranger, db):
    Benchmark.objects.bulk_create(
        Benchmark(id=f"b{number:03}", name=f"bench {number}", questions=1, grams=b"", added_at=1)
        for number in range(51)
    )
    page = open_page(as_stranger, "benchmark_list")
    assert page.count('<th scope="row"') == 50
    assert "bench 0" in open_next(as_stranger, LIST, page)
    assert as_stranger.get(LIST, {"after": "nonsense"}).status_code == 409
