"""`reflection dataset review` and `agreement`: verdicts in a queue from a terminal."""

import io
import os
import pty
import sys

import pytest

from datasets.models import QueueItem, SampleLabel
from datasets.queues import queue_store
from tests.datasets.verbs.verb_runs import read_refusal, run_verb
from tests.factories import SampleFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue(ada):
    for number in (1, 2, 3):
        SampleFactory(id=f"s{number}", created_at=1000 - number, turn_number=number)
    for name in ("ann", "bea"):
        UserFactory(username=name, role="labeller")
    return queue_store.create_queue("Replies", by="root")


def review(monkeypatch, user, keys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    return run_verb("review", "Replies", "--as", user)


def test_it_works(monkeypatch, capsys, queue):
    status, out, _error = review(
        monkeypatch, "ann", "a\nu\nr\ns\nn\nq\n"
    )  # the first is approved, undone, rejected; s2 skipped
    assert (status, out) == (0, "Judged: 3. Waiting for you: 0.\n")
    errors = capsys.readouterr().err
    assert "> Please check the nightly import." in errors and "turn 1 of ada (No other reason)" in errors
    rows = SampleLabel.objects.filter(undoes=None).order_by("id").values_list("sample_id", "status", "labelled_by")
    assert list(rows) == [("s1", "approved", "ann"), ("s1", "rejected", "ann"), ("s3", "needs_review", "ann")]
    review(monkeypatch, "bea", "r\n")  # its end quits
    assert QueueItem.objects.get(sample_id="s1").state == "done"
    _status, out, _errors = run_verb("agreement", "Replies")
    assert "Status, All: n = 1\n  Not enough. Items needed: 20." in out


def test_a_terminal_sends_single_keys(monkeypatch, queue):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        os.write(ours, b"aq")
        assert run_verb("review", "Replies", "--as", "ann")[0] == 0
    os.close(ours)
    assert SampleLabel.objects.get().status == "approved"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("review", "None", "--as", "ann"), "There is no review queue named None."),
        (("review", "Replies", "--as", "zoe"), "zoe may not judge in this queue."),
        (("agreement", "None"), "There is no review queue named None."),
    ],
)
def test_what_is_refused(queue, words, sentence):
    assert sentence in read_refusal(*words)
