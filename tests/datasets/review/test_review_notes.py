"""Nobody signs for another: a note is its author's alone."""

import re
from datetime import UTC, datetime

import orjson
import pytest
from django.db import connection

from datasets.models import SampleLabel
from datasets.review import copied_notes, undo, verdicts
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
NOTE = "Is the number right? Ask the bakery."


def note_box(page):
    """What the box for a note begins with."""
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


class TestCopiedNotes:
    """Rows of the time when the box began with the last note."""

    @pytest.fixture(autouse=True)
    def before_the_change(self, ada):
        """The box has begun empty from tomorrow on."""
        tomorrow = datetime.now(UTC).replace(year=2100)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE django_migrations SET applied = %s WHERE app = 'datasets' AND name LIKE '%%drafts_and_reasons'",
                [tomorrow.strftime("%Y-%m-%d %H:%M:%S.%f")],
            )
            assert cursor.rowcount == 1

    def found(self):
        return [(one.sample_id, one.written_by, one.labelled_by) for one in copied_notes.unlisted()]

    def test_a_note_under_another_name_is_found(self):
        SampleFactory(id="one")
        verdicts.label_sample("one", "needs_review", by="ann", notes=NOTE)
        verdicts.label_sample("one", "approved", by="mei", notes=NOTE)
        assert self.found() == [("one", "ann", "mei")]
        assert copied_notes.unlisted()[0].notes == NOTE

    def test_also_of_verdicts_that_do_not_say_what_was_before_them(self):
        sample = SampleFactory(id="one")
        for number, by in enumerate(("ann", "mei", "mei")):
            SampleLabel.objects.create(
                id=f"l{number}", sample=sample, status="approved", previous_status="pending", notes=NOTE,
                labelled_by=by, labelled_at=number,
            )  # fmt: skip
        assert self.found() == [("one", "ann", "mei")]

    def test_what_nobody_copied_is_not(self):
        for name in ("own", "other", "undone", "empty"):
            SampleFactory(id=name)
            verdicts.label_sample(name, "needs_review", by="ann", notes="" if name == "empty" else NOTE)
        verdicts.label_sample("own", "approved", by="ann", notes=NOTE)
        verdicts.label_sample("other", "approved", by="mei", notes="It is.")
        verdicts.label_sample("empty", "approved", by="mei")
        verdicts.label_sample("undone", "approved", by="mei", notes="It is.")
        undo.undo("mei")  # the row that takes it back holds what was before
        assert self.found() == []

    def test_they_are_listed_once(self):
        SampleFactory(id="one")
        verdicts.label_sample("one", "needs_review", by="ann", notes=NOTE)
        verdicts.label_sample("one", "approved", by="mei", notes=NOTE)
        copied_notes.mark_listed()
        assert self.found() == []


def test_a_note_that_says_the_same_since_the_box_is_empty_was_typed(ada):
    SampleFactory(id="one")
    verdicts.label_sample("one", "needs_review", by="ann", notes="Good.")
    verdicts.label_sample("one", "approved", by="mei", notes="Good.")
    assert orjson.loads(SampleLabel.objects.get(labelled_by="mei").before_json)["annotation_notes"] == "Good."
    assert copied_notes.unlisted() == []
