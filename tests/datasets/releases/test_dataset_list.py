"""The list of datasets, and the form that creates one."""

import pytest
from django.urls import reverse

from datasets.models import Dataset
from openclaw_web.errors import Refused
from people.models import AuditEntry
from tests.datasets.page_text import HTMX, read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import DATASET, find_links, open_page

pytestmark = pytest.mark.django_db
LIST, CREATE = reverse("datasets:dataset_list"), reverse("datasets:dataset_create")


def test_without_datasets_it_says_what_one_is(as_reviewer):
    page = open_page(as_reviewer, "dataset_list")
    assert "No datasets yet" in page and "A dataset is a name for samples" in page and "Create dataset" in page


def test_a_row_has_the_latest_release_and_leads_to_both(as_stranger, samples):
    dataset, empty = make_dataset("Support"), make_dataset("Empty")
    make_release(dataset)
    version = make_release(dataset)
    page = as_stranger.get(LIST)
    links = find_links(page.text)
    assert {dataset.get_absolute_url(), version.get_absolute_url(), empty.get_absolute_url()} <= set(links)
    assert "Support 2 20 ann" in read_text(page) and "Empty – ann" in read_text(page)
    assert "release 2" in as_stranger.get(version.get_absolute_url()).text
    assert reverse("datasets:benchmark_list") in links


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=supp", ["Support"]),
        ("by=ann", ["Other", "Support"]),
        ("by=nobody", []),
        ("sort=made", ["Support", "Other"]),
    ],
)
def test_filters_and_order(as_stranger, db, later, query, names):
    make_dataset("Support")
    later(seconds=5)
    make_dataset("Other")
    page = as_stranger.get(f"{LIST}?{query}").text
    listed = sorted(
        (name for name in ("Support", "Other") if f">{name}</a>" in page), key=lambda name: page.index(f">{name}</a>")
    )
    assert listed == names


@pytest.mark.parametrize("query", ["sort=nonsense", "from=yesterday", "after=nonsense"])
def test_what_the_page_does_not_offer_is_refused(as_stranger, db, query):
    make_dataset("Support")
    assert as_stranger.get(f"{LIST}?{query}").status_code == 409


def test_the_swapped_part_has_the_rows_alone(as_reviewer, db):
    make_dataset("Support")
    part = as_reviewer.get(f"{LIST}?name=supp", headers=HTMX).text
    assert ">Support</a>" in part and "<html" not in part and "Create dataset" not in part


def test_a_dataset_is_created_and_shown(as_reviewer, home):
    answer = as_reviewer.post(CREATE, DATASET | {"description": "Answers of the shop"})
    dataset = Dataset.objects.get()
    assert (answer.status_code, answer.url) == (302, dataset.get_absolute_url())
    assert (dataset.name, dataset.created_by, dataset.options["train_split"]) == ("Support", "reviewer", 0.5)
    assert "Answers of the shop" in as_reviewer.get(answer.url).text
    assert AuditEntry.objects.get(action="dataset_created").object_id == dataset.id


def test_the_filter_of_the_list_of_samples_chooses_its_samples(as_reviewer, samples, ada):
    chosen = DATASET | {"sample_filter": "agent:ada by:nobody"}
    counted = as_reviewer.post(CREATE, chosen | {"count": "1", "name": ""})
    assert "<strong>0</strong> samples fit" in counted.text and "agent:ada by:nobody" in counted.text
    assert "<html" not in as_reviewer.post(CREATE, chosen | {"count": "1"}, headers=HTMX).text
    assert not Dataset.objects.exists()
    page = as_reviewer.get(as_reviewer.post(CREATE, chosen).url)
    assert Dataset.objects.get().options["sample_filter"] == "agent:ada by:nobody" in read_text(page)
    with pytest.raises(Refused):
        make_release(Dataset.objects.get())
    assert as_reviewer.post(CREATE, chosen | {"name": "Other", "sample_filter": "bye:ann"}).status_code == 422


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": " "}, "This field is required"),
        ({"name": "x" * 121}, "at most 120 characters"),
        ({"split_by": "time"}, "Choose the day of the split"),
        ({"train_split": "0.8", "validation_split": "0.4"}, "together must be at most 1"),
        ({"task": "nonsense"}, "Select a valid choice"),
        ({"benchmark": "nonsense"}, "Select a valid choice"),
    ],
)
def test_a_dataset_with_wrong_options_is_not_created(as_reviewer, home, changes, sentence):
    answer = as_reviewer.post(CREATE, DATASET | changes)
    assert answer.status_code == 422 and sentence in answer.text
    assert not Dataset.objects.exists()


def test_a_dataset_without_a_name_is_not_created_by_the_api(as_reviewer, home):
    answer = as_reviewer.post("/api/v1/datasets", {"name": " "}, content_type="application/json")
    assert answer.status_code == 409 and answer.json()["detail"] == "Enter a name for the dataset."
    assert not Dataset.objects.exists()


def test_a_name_is_used_once(as_reviewer, home):
    make_dataset("Support")
    answer = as_reviewer.post(CREATE, DATASET)
    assert answer.status_code == 422 and "already a dataset named Support" in answer.text
    assert Dataset.objects.count() == 1


def test_viewers_read_the_list_and_create_nothing(as_stranger, home):
    make_dataset("Shown")
    page = open_page(as_stranger, "dataset_list")
    assert ">Shown</a>" in page and "Create dataset" not in page and 'href="#new"' not in page
    assert as_stranger.post(CREATE, DATASET).status_code == 403
    assert Dataset.objects.count() == 1


def test_a_hostile_name_is_text(as_stranger, db):
    make_dataset("<script>x</script>")
    page = open_page(as_stranger, "dataset_list")
    assert "<script>x" not in page and "&lt;script&gt;x" in page
