"""The members of a release that should not be used any more."""

import pytest
from django.urls import reverse

from datasets.models import DatasetSample, VersionTaint
from datasets.releases.taints import find_taints
from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, list_samples, open_next, open_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(samples):
    return make_release(make_dataset())


def open_taints(browser, version):
    return open_page(browser, "taint_list", version.dataset_id, version.number)


def test_without_taints_it_is_empty(as_stranger, version):
    page = open_taints(as_stranger, version)
    assert "No samples." in page and not list_samples(page)


def test_each_row_has_a_reason_and_leads_to_its_sample(as_stranger, version):
    DatasetSample.objects.filter(id="x2-1").update(annotation_status="rejected")
    DatasetSample.objects.filter(id="x5-1").delete()
    find_taints(version)
    page = open_taints(as_stranger, version)
    assert list_samples(page) == ["x2-1", "x5-1"]
    words = read_text(as_stranger.get(reverse("datasets:taint_list", args=[version.dataset_id, 1])))
    assert "Rejected since" in words and "x2-1" not in words  # it is shown by its question
    assert "x5-1 Session removed" in words
    answers = [as_stranger.get(link).status_code for link in find_links(page, "/samples/")]
    assert answers == [200, 404]  # the removed one is gone
    assert version.get_absolute_url() in page


def test_taints_continue_on_a_next_page(as_stranger, version):
    VersionTaint.objects.bulk_create(
        VersionTaint(version=version, sample_id=f"y{number:03}", reason="removed", noted_at=1) for number in range(51)
    )
    page = open_taints(as_stranger, version)
    address = reverse("datasets:taint_list", args=[version.dataset_id, 1])
    assert len(list_samples(page)) == 50
    assert list_samples(open_next(as_stranger, address, page)) == ["y050"]
    assert as_stranger.get(address, {"after": "nonsense"}).status_code == 409


def test_taints_of_another_release_are_not_listed(as_stranger, version):
    VersionTaint.objects.create(version=make_release(version.dataset), sample_id="x1-1", reason="removed", noted_at=1)
    assert not list_samples(open_taints(as_stranger, version))


def test_an_unknown_release_is_not_found(as_stranger, version):
    for args in ([version.dataset_id, 2], ["none", 1]):
        assert as_stranger.get(reverse("datasets:taint_list", args=args)).status_code == 404
