"""The page of a dataset: its options, its releases, and the next release."""

import pytest
from django.urls import reverse

from datasets.models import DatasetVersion
from datasets.releases.release import start_release
from jobs.models import JobRun
from people.models import AuditEntry
from tests.datasets.page_text import HTMX, read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, open_next, open_page, run_jobs, send_form

pytestmark = pytest.mark.django_db


def read_words(browser, dataset):
    return read_text(browser.get(dataset.get_absolute_url()))


def test_without_a_release_it_says_so_and_shows_the_options(as_stranger, home):
    words = read_words(as_stranger, make_dataset(min_quality=0.5, include=["injected"]))
    assert "No release yet." in words and "Minimum quality 0.5" in words
    assert "Samples Approved only" in words and "Turns that OpenClaw started itself Included" in words
    assert "By ann," in words


def test_each_release_has_a_row_that_leads_to_it(as_stranger, samples):
    dataset = make_dataset(train_split=1)
    versions = [make_release(dataset), make_release(dataset)]
    links = find_links(open_page(as_stranger, "dataset_detail", dataset.id), dataset.get_absolute_url())
    numbers = ("", "members/", "members/?side=train")  # a side without members has no link
    assert links == [f"{version.get_absolute_url()}{end}" for version in reversed(versions) for end in numbers]
    assert "support, release 2" in as_stranger.get(links[0]).text
    assert "Release 2 20 20 0 0 ann" in read_words(as_stranger, dataset)


def test_a_release_is_started_on_the_page_and_audited(as_reviewer, samples):
    dataset = make_dataset()
    answer = send_form(as_reviewer, "dataset_release", dataset.id, notes="the first")
    assert (answer.status_code, answer.url) == (302, dataset.get_absolute_url())
    version = dataset.versions.get()
    assert (version.state, version.number, version.notes, version.released_by) == (
        *("released", 1),
        *("the first", "reviewer"),
    )
    assert {"dataset_release_started", "released"} <= set(AuditEntry.objects.values_list("action", flat=True))
    assert "the first" in open_page(as_reviewer, "version_detail", dataset.id, 1)


def test_a_release_that_waits_is_shown_with_its_progress(as_reviewer, samples):
    dataset = make_dataset()
    as_reviewer.post(reverse("datasets:dataset_release", args=[dataset.id]))
    page = open_page(as_reviewer, "dataset_detail", dataset.id)
    assert "Release 1" in page and "was not completed" not in page and "No release yet." in page
    assert as_reviewer.get(reverse("datasets:version_detail", args=[dataset.id, 1])).status_code == 404
    version_id = dataset.versions.get().id
    assert as_reviewer.get(reverse("datasets:version_of", args=[version_id])).status_code == 404
    assert (
        'hx-trigger="every 1s"' in page and as_reviewer.get(dataset.get_absolute_url(), headers=HTMX).status_code == 200
    )
    run_jobs()
    part = as_reviewer.get(dataset.get_absolute_url(), headers=HTMX)
    assert part.status_code == 286 and "<html" not in part.text and "hx-trigger" not in part.text  # asked no more
    assert "/1/" in part.text and "No release yet." not in part.text
    assert as_reviewer.get(reverse("datasets:version_of", args=[version_id])).status_code == 302


@pytest.mark.parametrize(("by", "notes"), [("reviewer", "other"), ("ann", "mine")])
def test_a_second_release_is_refused_while_another_one_is_under_way(as_reviewer, samples, by, notes):
    dataset = make_dataset()
    start_release(dataset, by=by, notes=notes)
    answer = as_reviewer.post(reverse("datasets:dataset_release", args=[dataset.id]), {"notes": "mine"})
    assert answer.status_code == 409
    assert f"A release of this dataset is under way, started by {by}." in answer.text
    run_jobs()
    version = dataset.versions.get()
    assert (version.state, version.released_by, version.notes) == ("released", by, notes)


def test_the_same_request_again_is_the_same_release(as_reviewer, samples):
    dataset = make_dataset()
    for _ in range(2):
        as_reviewer.post(reverse("datasets:dataset_release", args=[dataset.id]), {"notes": " mine "})
    run_jobs()
    assert dataset.versions.get().notes == "mine"


def test_an_unfinished_release_without_a_job_is_taken_over(as_reviewer, samples):
    dataset = make_dataset()
    start_release(dataset, by="ann", notes="of ann")
    JobRun.objects.update(state="failed")
    send_form(as_reviewer, "dataset_release", dataset.id, notes="mine")
    version = dataset.versions.get()
    assert (version.state, version.number, version.released_by, version.notes) == ("released", 1, "reviewer", "mine")


def test_a_release_that_did_not_end_is_said(as_stranger, home):
    dataset = make_dataset()
    DatasetVersion.objects.create(
        id="v", dataset=dataset, number=1, options_json="{}", released_by="ann", released_at=1
    )
    words = read_words(as_stranger, dataset)
    assert "Release 1 was not completed. The next release has this number." in words


def test_viewers_read_it_and_release_nothing(as_stranger, samples):
    dataset = make_dataset()
    assert "New release" not in open_page(as_stranger, "dataset_detail", dataset.id)
    assert send_form(as_stranger, "dataset_release", dataset.id).status_code == 403
    assert not dataset.versions.exists()


def test_an_unknown_dataset_is_not_found(as_reviewer, home):
    assert as_reviewer.get(reverse("datasets:dataset_detail", args=["none"])).status_code == 404
    assert send_form(as_reviewer, "dataset_release", "none").status_code == 404


def test_notes_that_are_too_long_are_refused(as_reviewer, samples):
    dataset = make_dataset()
    answer = send_form(as_reviewer, "dataset_release", dataset.id, notes="x" * 100_000)
    assert answer.status_code == 409 and not dataset.versions.exists()


def test_releases_continue_on_a_next_page(as_stranger, home):
    dataset = make_dataset()
    DatasetVersion.objects.bulk_create(
        DatasetVersion(
            id=f"v{number}", dataset=dataset, number=number, state="released", options_json="{}", released_at=number
        )
        for number in range(1, 52)
    )
    address = dataset.get_absolute_url()
    page = open_page(as_stranger, "dataset_detail", dataset.id)
    assert len(find_links(page, address)) == 100  # of each release its page and its members
    rest = find_links(open_next(as_stranger, address, page), address)
    assert rest == [f"{address}1/", f"{address}1/members/"]
    assert as_stranger.get(address, {"after": "nonsense"}).status_code == 409
