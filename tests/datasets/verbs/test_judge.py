"""`openclaw-web reflection dataset approve` and `reject`."""

import pytest

from datasets.models import DatasetSample, SampleLabel
from datasets.review import claims
from people.models import AuditEntry
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]


def test_a_sample_is_approved_as_in_the_queue():
    SampleFactory(id="one")
    sample = read_receipt("approve", "one", "--notes", " Clear and short ")["sample"]
    assert (sample["annotation_status"], sample["annotation_notes"]) == ("approved", "Clear and short")
    row, label = DatasetSample.objects.get(), SampleLabel.objects.get()
    assert (row.annotation_status, row.annotated_by, row.label_id) == ("approved", "command line", label.id)
    assert (label.status, label.previous_status, label.notes) == ("approved", "pending", "Clear and short")
    entry = AuditEntry.objects.get(action="labelled")
    assert (entry.actor, entry.object_id) == ("command line", "one")


def test_approving_a_reply_that_was_cut_off_says_so():
    SampleFactory(id="one", reply_stop="length")
    _status, out, _error = run_verb("approve", "one")
    assert out == "Approved, but its reply was cut off, so that exports leave it out by default: one\n"


def test_a_sample_is_rejected_with_a_reason():
    SampleFactory(id="one", annotation_status="approved")
    status, out, _error = run_verb("reject", "one", "--reason", "wrong_fact")
    assert (status, out) == (0, "Rejected: one\n")
    assert DatasetSample.objects.get().reject_reason == "wrong_fact"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("approve", "nothing"), 3, "There is no sample nothing."),
        (("reject", "one", "--reason", "no_such"), 3, "There is no reason no_such."),
        (("approve", "one", "--notes", "x" * 5_001), 2, "--notes may have at most 5,000 characters."),
        (("approve", "one", "--reason", "wrong_fact"), 2, "has no --reason"),
        (("approve",), 2, "SAMPLE"),
    ],
)
def test_a_wrong_verdict_changes_nothing(words, status, sentence):
    SampleFactory(id="one")
    assert sentence in read_refusal(*words, status=status)
    assert DatasetSample.objects.get().annotation_status == "pending" and not SampleLabel.objects.exists()


def test_a_sample_that_somebody_has_open_is_left_to_them():
    SampleFactory(id="one")
    claims.take("one", by="mei")
    assert "mei" in read_refusal("approve", "one")
    assert not SampleLabel.objects.exists()
