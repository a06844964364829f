"""The releases and files that have a sample."""

import pytest
from django.urls import reverse

from datasets.models import DatasetExport, DatasetMember, DatasetSample, DatasetVersion
from datasets.releases.taints import find_taints
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, open_page, send_form

pytestmark = pytest.mark.django_db


def read_words(browser, sample_id):
    return read_text(browser.get(reverse("datasets:sample_uses", args=[sample_id])))


def test_a_sample_that_is_used_nowhere_says_so(as_stranger, samples):
    words = read_words(as_stranger, "x7-1")
    assert "In no release." in words and "In no file of an export." in words


def test_it_leads_to_the_releases_and_to_the_row_that_teaches_it(as_stranger, samples):
    version = make_release(make_dataset(train_split=1))
    export = build_export("alpaca", name="learnt", release=version.id)
    place = 1 + [row["sample_id"] for row in read_rows(export)].index("x7-1")
    words = read_words(as_stranger, "x7-1")
    assert "support, release 1 Training" in words and f"Training, row {place}" in words
    links = find_links(open_page(as_stranger, "sample_uses", "x7-1"))
    row = f"{export.get_absolute_url()}?row={place}"
    assert version.get_absolute_url() in links and row in links
    assert "s7t1w1" in as_stranger.get(row).text


def test_rows_of_other_sides_lead_to_the_export(as_stranger, samples):
    version = make_release(make_dataset(train_split=0))
    export = build_export("alpaca", name="tested", release=version.id)
    assert "Testing, row" in read_words(as_stranger, "x7-1")
    assert find_links(open_page(as_stranger, "sample_uses", "x7-1"), "/exports/") == [export.get_absolute_url()]


def test_releases_and_exports_that_are_not_ready_are_not_listed(as_stranger, samples):
    version = make_release(make_dataset(train_split=1))
    build_export("alpaca", name="learnt", release=version.id)
    DatasetVersion.objects.update(state="building")
    DatasetExport.objects.update(state="failed")
    words = read_words(as_stranger, "x7-1")
    assert "In no release." in words and "In no file of an export." in words


def test_a_sample_that_was_removed_keeps_its_uses(as_stranger, samples):
    make_release(make_dataset(train_split=1))
    DatasetSample.objects.filter(id="x7-1").delete()
    assert DatasetMember.objects.filter(sample_id="x7-1").exists()
    assert "support, release 1" in read_words(as_stranger, "x7-1")


def test_the_page_of_the_sample_leads_here(as_stranger, samples):
    address = reverse("datasets:sample_uses", args=["x7-1"])
    assert address in as_stranger.get(reverse("datasets:sample_detail", args=["x7-1"])).text


def test_a_release_is_exported_again_without_a_tainted_sample(as_reviewer, samples):
    version = make_release(make_dataset(train_split=1))
    export = build_export("alpaca", name="learnt", release=version.id)
    DatasetSample.objects.filter(id="x7-1").update(annotation_status="rejected")
    find_taints(version)
    answer = send_form(as_reviewer, "export_again", export.id)
    again = DatasetExport.objects.exclude(id=export.id).get()
    assert (answer.status_code, answer.url) == (302, again.get_absolute_url())
    assert (again.export_name, again.state, again.total_samples) == ("learnt 2", "ready", export.total_samples - 1)


def test_an_export_of_no_release_is_exported_again_with_its_options(as_reviewer, samples):
    export = build_export("alpaca", name="alone")
    answer = send_form(as_reviewer, "export_again", export.id)
    again = DatasetExport.objects.exclude(id=export.id).get()
    assert (answer.status_code, answer.url) == (302, again.get_absolute_url())
    assert (again.export_name, again.version_id, again.total_samples) == ("alone 2", None, export.total_samples)


def test_an_export_again_needs_an_export_and_a_labeller(as_reviewer, as_stranger, samples):
    export = build_export("alpaca", name="alone")
    assert send_form(as_reviewer, "export_again", "none").status_code == 404
    assert send_form(as_stranger, "export_again", export.id).status_code == 403
    assert DatasetExport.objects.count() == 1
