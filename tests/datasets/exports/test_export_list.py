"""The list of exports, and the form that creates one."""

import pytest
from django.urls import reverse

from datasets.models import DatasetExport
from datasets.words import FORMAT_NAMES, TASK_NAMES
from jobs.models import JobRun
from tests.datasets.exports.export_helpers import FORM_FIELDS, LIST, make_export
from tests.factories import ExportFactory, SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def test_the_list_is_empty_and_says_how_to_fill_it(as_reviewer, as_stranger):
    assert "New export" not in as_stranger.get(LIST).text
    page = as_reviewer.get(LIST).text
    assert "No exports yet" in page and "New export" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "This field is required."),
        ({"format": "xml"}, "is not one of the available choices"),
        ({"train_split": "nan"}, "Enter a number."),
        ({"name": "a\u2028b"}, "a single line"),
    ],
)
def test_a_form_that_does_not_fit_comes_back_with_what_was_typed(as_reviewer, change, words):
    answer = as_reviewer.post(reverse("datasets:export_create"), FORM_FIELDS | {"seed": "mine"} | change)
    assert answer.status_code == 422
    assert words in answer.text and 'value="mine"' in answer.text
    assert not DatasetExport.objects.exists()


def test_the_form_says_how_many_samples_there_are_and_asks_for_none_that_would_be_empty(as_reviewer):
    SampleFactory(id="waiting")
    counted = as_reviewer.post(reverse("datasets:export_count"), FORM_FIELDS).text
    assert "<strong>0</strong> samples fit" in counted and "<strong>1</strong> Not approved yet" in counted
    answer = as_reviewer.post(reverse("datasets:export_create"), FORM_FIELDS)
    assert answer.status_code == 422 and "Not approved yet: 1" in answer.text
    assert not DatasetExport.objects.exists() and not JobRun.objects.exists()


def test_a_taken_name_is_refused_and_one_that_came_to_nothing_is_free(as_reviewer):
    SampleFactory(annotation_status="approved")
    make_export(as_reviewer)
    answer = as_reviewer.post(reverse("datasets:export_create"), FORM_FIELDS | {"name": " First try "})
    assert answer.status_code == 422
    assert "There is already an export named First try. Choose another name." in answer.text
    assert DatasetExport.objects.count() == 1
    DatasetExport.objects.update(state="failed")
    assert as_reviewer.post(reverse("datasets:export_create"), FORM_FIELDS).status_code == 302


def test_formats_and_tasks_are_named_in_words_on_the_page_alone(as_reviewer):
    ExportFactory(export_format="sharegpt", task="reply")
    page = as_reviewer.get(LIST).text
    assert 'data-label="Format">ShareGPT</td>' in page and 'data-label="Task">Reply</td>' in page
    assert as_reviewer.get(LIST, {"format": "json"}).getvalue().count(b'"sharegpt"') == 1
    assert FORMAT_NAMES.keys() == set(DatasetExport.Format) and TASK_NAMES.keys() == set(DatasetExport.Task)
