"""A note belongs to its author alone."""

import re

import pytest

from datasets.models import SampleLabel
from datasets.review import verdicts
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
NOTE = "Is the number right? Ask the bakery."


def note_box(page):
    """The initial text of the field for a note."""
    return re.search(r'<textarea name="notes"[^>]*>\s*(.*?)</textarea>', page.text, re.DOTALL)[1]


@pytest.mark.parametrize("address", ["/review/?sample=one", "/samples/one/"])
@pytest.mark.parametrize("author", ["ann", "reviewer"])
def test_the_box_is_empty_whoever_noted_something(as_reviewer, ada, address, author):
    SampleFactory(id="one")
    verdicts.label_sample("one", "needs_review", by=author, notes=NOTE)
    page = as_reviewer.get(address)
    assert note_box(page) == ""
    assert page.text.count(NOTE) == 1  # under Verdicts


def test_a_verdict_does_not_file_the_note_of_somebody_else(as_reviewer, ada):
    SampleFactory(id="one")
    verdicts.label_sample("one", "needs_review", by="ann", notes=NOTE)
    page = as_reviewer.get("/review/?sample=one")
    as_reviewer.post("/review/label/", {"sample": "one", "status": "approved", "notes": note_box(page)})
    assert set(SampleLabel.objects.values_list("labelled_by", "notes")) == {("ann", NOTE), ("reviewer", "")}
