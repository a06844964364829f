"""The page of a release: its numbers, checks, differences and files, and its address by id."""

import re
from html import unescape

import pytest
from django.urls import reverse

from datasets.models import DatasetExport, DatasetSample, VersionTaint
from tests.datasets.exports.export_helpers import FORM_FIELDS, build_export
from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of
from tests.datasets.releases.release_pages import find_links, list_samples, open_page, send_form

pytestmark = pytest.mark.django_db
FORMS = ("version_verify", "version_check", "version_compare")


@pytest.fixture
def version(samples):
    """A release of twenty samples, half of them for training."""
    return make_release(make_dataset(train_split=0.5))


def open_release(browser, version):
    return open_page(browser, "version_detail", version.dataset_id, version.number)


def send(browser, name, version, **fields):
    return send_form(browser, name, version.dataset_id, version.number, **fields)


def test_its_numbers_lead_to_the_members_behind_them(as_stranger, version):
    page = open_release(as_stranger, version)
    sides = list(sides_of(version).values())
    members = reverse("datasets:member_list", args=[version.dataset_id, 1])
    links = find_links(page, members)
    assert links == [members, *(f"{members}?side={side}" for side in ("train", "validation", "test"))]
    for address, count in zip(links, (20, sides.count("train"), 0, sides.count("test")), strict=True):
        assert len(list_samples(as_stranger.get(address).text)) == count
    assert version.checksum in page and "No export yet." in page and "Not verified since the release." in page


def test_a_first_release_is_compared_with_nothing(as_stranger, version):
    page = open_release(as_stranger, version)
    assert "Compared with release" not in page and "Members that should not be used" not in page


def test_the_next_release_is_compared_and_says_what_was_left_out(as_stranger, version):
    DatasetSample.objects.filter(id="x1-1").update(annotation_status="rejected")
    second = make_release(version.dataset)
    page = open_release(as_stranger, second)
    assert "Compared with release 1" in page and "Rejected" in page
    [gone] = find_links(page, "/difference/")
    assert list_samples(as_stranger.get(gone).text) == ["x1-1"]


def test_samples_that_were_left_out_are_in_pages_by_their_words(as_stranger, version):
    DatasetSample.objects.filter(id="x1-1").update(annotation_status="rejected")
    for number in range(100, 144):
        add_session(number, annotation_status="rejected")
    address = second = make_release(version.dataset).get_absolute_url()
    seen = []
    while address:
        page = as_stranger.get(address).text
        seen.append(re.findall(r">Question s(\d+)t1w0", page))
        link = re.search(r'href="(\?left_out=rejected[^"#]+)#left-out-rejected"', page)
        address = link and second + unescape(link[1])
    assert [len(numbers) for numbers in seen] == [20, 20, 5]
    assert {name for numbers in seen for name in numbers} == {"1", *map(str, range(100, 144))}


def test_verifying_says_whether_it_is_as_released(as_reviewer, version):
    send(as_reviewer, "version_verify", version)
    assert "20 members are as released, and so are their samples." in open_release(as_reviewer, version)
    version.members.filter(sample_id="x4-1").update(side="validation")
    send(as_reviewer, "version_verify", version)
    page = open_release(as_reviewer, version)
    assert "The release was changed" in page and "x4-1" in page


def test_a_check_that_waits_is_linked(as_reviewer, version):
    as_reviewer.post(reverse("datasets:version_verify", args=[version.dataset_id, 1]))
    page = open_release(as_reviewer, version)
    [job] = find_links(page, "/operations/jobs/")
    assert "A comparison is under way." in page and as_reviewer.get(job).status_code == 200


def test_taints_name_the_people_who_have_the_files(as_reviewer, version, reviewer):
    send_form(as_reviewer, "export_create", **FORM_FIELDS, release=version.id)
    export = DatasetExport.objects.get()
    assert export.version_id == version.id
    DatasetSample.objects.filter(id="x7-1").update(annotation_status="rejected")
    send(as_reviewer, "version_check", version)
    assert VersionTaint.objects.get().reason == "rejected"
    page = open_release(as_reviewer, version)
    assert "Members that should not be used any more" in page and "Rejected since" in page
    assert list_samples(as_reviewer.get(find_links(page, "/taints/")[0]).text) == ["x7-1"]
    people = read_text(as_reviewer.get(version.get_absolute_url())).partition("created or downloaded its files")[2]
    assert people.startswith(f" {reviewer.username} First try,")
    DatasetSample.objects.filter(id="x7-1").update(annotation_status="approved")
    send(as_reviewer, "version_check", version)
    assert "Members that should not be used any more" not in open_release(as_reviewer, version)


def test_its_exports_lead_to_their_pages_and_back_to_it(as_stranger, version):
    export = build_export("alpaca", name="learnt", release=version.id)
    assert find_links(open_release(as_stranger, version), "/exports/") == [export.get_absolute_url()]
    [back] = find_links(as_stranger.get(export.get_absolute_url()).text, "/datasets/of/")
    assert back == reverse("datasets:version_of", args=[version.id])
    answer = as_stranger.get(back)
    assert (answer.status_code, answer.url) == (302, version.get_absolute_url())


def test_the_button_for_an_export_opens_the_form_with_this_release(as_reviewer, version):
    [address] = find_links(open_release(as_reviewer, version), "/exports/?")
    assert f"release={version.id}" in address and address.endswith("#new")
    assert f'value="{version.id}" selected' in as_reviewer.get(address).text


def test_viewers_read_it_and_start_nothing(as_stranger, version):
    page = open_release(as_stranger, version)
    assert "support, release 1" in page
    for button in ("Export this release", "Search now", "Compare with a benchmark", ">Verify<"):
        assert button not in page
    assert {send(as_stranger, name, version).status_code for name in FORMS} == {403}


@pytest.mark.parametrize("number", [0, 2, 999_999])
def test_an_unknown_number_is_not_found(as_reviewer, version, number):
    address = reverse("datasets:version_detail", args=[version.dataset_id, number])
    assert as_reviewer.get(address).status_code == 404
    for name in FORMS:
        assert send_form(as_reviewer, name, version.dataset_id, number).status_code == 404


def test_a_number_beyond_all_numbers_is_not_found(as_reviewer, version):
    assert as_reviewer.get(f"{version.dataset.get_absolute_url()}{10**30}/").status_code == 404
    assert as_reviewer.get(f"{version.dataset.get_absolute_url()}-1/").status_code == 404


def test_an_unknown_id_of_a_release_is_not_found(as_stranger, db):
    assert as_stranger.get(reverse("datasets:version_of", args=["none"])).status_code == 404


@pytest.mark.parametrize(("benchmark", "status"), [("", 409), ("nonsense", 409)])
def test_a_comparison_needs_a_benchmark(as_reviewer, version, benchmark, status):
    assert send(as_reviewer, "version_compare", version, benchmark=benchmark).status_code == status
