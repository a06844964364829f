"""The samples behind a number of the comparison with the release before."""

import pytest
from django.urls import reverse

from datasets.models import DatasetMember, DatasetSample
from datasets.releases.differences import KINDS, LISTED, compare
from openclaw_web.lists.paging import WINDOW
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, list_samples, open_next, open_page

pytestmark = pytest.mark.django_db


def open_differences(browser, version, kind):
    return open_page(browser, "difference_list", version.dataset_id, version.number, kind)


@pytest.fixture
def second(samples):
    """A release from which x1-1 is gone, which has x30-1 more, and x2-1 with other words."""
    dataset = make_dataset()
    make_release(dataset)
    DatasetSample.objects.filter(id="x1-1").update(annotation_status="rejected")
    changed = DatasetSample.objects.get(id="x2-1")
    changed.content = changed.content.replace("s2t1w3", "another")
    changed.save()
    add_session(30)
    return make_release(dataset)


@pytest.mark.parametrize(
    ("kind", "listed", "title"),
    [
        ("added", ["x30-1"], "Added samples"),
        ("gone", ["x1-1"], "No longer in it"),
        ("changed", ["x2-1"], "With other content"),
        ("judged_again", [], "Judged again"),
        ("moved", [], "On another side"),
    ],
)
def test_each_kind_has_its_samples(as_stranger, second, kind, listed, title):
    page = open_differences(as_stranger, second, kind)
    assert list_samples(page) == listed and f">{title}</h1>" in page.replace("\n", "")
    assert ("No samples." in page) is (not listed)
    assert "Reason" not in page and "Noted" not in page  # those are of members that should not be used
    assert all(as_stranger.get(link).status_code == 200 for link in find_links(page, "/samples/"))


def test_an_unknown_kind_or_release_is_not_found(as_stranger, second):
    places = [(second.dataset_id, 2, "nonsense"), (second.dataset_id, 3, "gone"), ("none", 2, "gone")]
    for place in places:
        assert as_stranger.get(reverse("datasets:difference_list", args=place)).status_code == 404


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_release_has_no_other_to_compare_with(as_stranger, second, kind):
    answer = as_stranger.get(reverse("datasets:difference_list", args=[second.dataset_id, 1, kind]))
    assert answer.status_code == 409 and "There is no other release to compare with." in answer.text


def store_difference(version):
    version.counts = version.counts | {"difference": compare(version.dataset.versions.get(number=1), version)}
    version.save()


def test_differences_continue_on_a_next_page(as_stranger, second):
    DatasetMember.objects.bulk_create(
        DatasetMember(
            version=second, sample_id=f"y{number:03}", agent_id="ada", session_id="y", side="train", status="approved"
        )
        for number in range(100)
    )
    store_difference(second)
    page = open_differences(as_stranger, second, "added")
    address = reverse("datasets:difference_list", args=[second.dataset_id, 2, "added"])
    listed = list_samples(page)
    assert listed == ["x30-1", *(f"y{number:03}" for number in range(99))]
    assert list_samples(open_next(as_stranger, address, page)) == ["y099"]
    assert list_samples(as_stranger.get(address, {"after": "zzz"}).text) == []


def test_few_differences_are_listed_without_a_search(as_stranger, second):
    second.members.all().delete()
    assert list_samples(open_differences(as_stranger, second, "added")) == ["x30-1"]


@pytest.mark.parametrize("seconds", [0, 60])
def test_differences_that_lie_far_apart_are_on_few_pages(as_stranger, second, monkeypatch, seconds):
    monkeypatch.setattr("datasets.releases.differences.SEARCH_SECONDS", seconds)
    version = second.dataset.versions.get(number=1)
    for number in (0, 1):
        DatasetMember.objects.bulk_create(
            DatasetMember(
                version=(version, second)[number],
                sample_id=f"z{n:05}",
                agent_id="ada",
                session_id="z",
                side="train",
                status="approved",
            )
            for n in range(WINDOW + number * LISTED)
        )
    store_difference(second)
    last = [f"z{n:05}" for n in range(WINDOW, WINDOW + LISTED)]
    address = reverse("datasets:difference_list", args=[second.dataset_id, 2, "added"])
    page = open_differences(as_stranger, second, "added")
    if seconds:
        assert list_samples(page) == ["x30-1", *last] and "rows were searched" not in page
    else:
        assert list_samples(page) == ["x30-1"] and "5,000 rows were searched for this page" in page
        assert list_samples(open_next(as_stranger, address, page)) == last
