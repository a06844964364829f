"""Verdicts on samples."""

import threading
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from datasets.models import DatasetSample, SampleLabel
from datasets.review import verdicts
from tests.datasets.threads import call_and_close, global_file  # noqa: F401 - a fixture
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
REPLY = "It failed on the last line."


@pytest.fixture
def sample(ada):
    return SampleFactory(id="one")


def label(client, sample_id="one", query="", **data):
    return client.post(f"/samples/{sample_id}/label/{query}", data)


def test_it_works(as_reviewer, sample):
    answer = label(as_reviewer, status="approved", output=REPLY, notes="Good.", expected_status="pending")
    assert answer.status_code == 302
    sample.refresh_from_db()
    assert (sample.annotation_status, sample.annotated_by, sample.annotation_notes) == ("approved", "reviewer", "Good.")
    assert sample.annotated_at
    assert sample.output is None
    verdict = sample.labels.get()
    assert (verdict.status, verdict.previous_status, verdict.labelled_by) == ("approved", "pending", "reviewer")
    assert (verdict.output, verdict.notes, verdict.labelled_at) == (None, "Good.", sample.annotated_at)


def test_every_verdict_stays(as_reviewer, sample):
    for status in ("needs_review", "rejected", "approved", "pending"):
        label(as_reviewer, status=status)
    verdicts = sample.labels.order_by("id").values_list("previous_status", "status")
    assert list(verdicts) == [
        ("pending", "needs_review"),
        ("needs_review", "rejected"),
        ("rejected", "approved"),
        ("approved", "pending"),
    ]


def test_an_edited_reply_is_stored_and_taken_back_by_the_agents_own_words(as_reviewer, sample):
    label(as_reviewer, status="approved", output="It failed.\r\nOn the last line. ")
    sample.refresh_from_db()
    assert sample.output == "It failed.\nOn the last line. "
    assert sample.labels.get().output == sample.output
    label(as_reviewer, status="approved", output=REPLY)
    sample.refresh_from_db()
    assert sample.output is None


@pytest.mark.parametrize(
    ("own", "sent"),
    [
        ("one\ntwo\r\nthree\n", "one\r\ntwo\r\nthree\r\n"),
        ("a\rb", "a\r\nb"),
        ("a\0b", "a\ufffdb"),
        ("\n a ", "\r\n a "),
    ],
)
def test_what_a_browser_does_to_a_text_is_no_edit(as_reviewer, ada, own, sent):
    body = {"type": "annotated_turn", "userMessage": "x", "agentReply": own}
    sample = SampleFactory(content=orjson.dumps(body).decode())
    label(as_reviewer, sample.id, status="approved", output=sent)
    sample.refresh_from_db()
    assert (sample.annotation_status, sample.output) == ("approved", None)


def test_a_verdict_without_the_box_leaves_the_edit(as_reviewer, sample):
    label(as_reviewer, status="approved", output="better")
    label(as_reviewer, status="needs_review")
    sample.refresh_from_db()
    assert (sample.annotation_status, sample.output) == ("needs_review", "better")


@pytest.mark.parametrize("empty", ["", " ", "\r\n"])
def test_an_empty_reply_is_refused(as_reviewer, sample, empty):
    answer = label(as_reviewer, status="approved", output=empty, notes="typed long")
    assert answer.status_code == 422
    assert "The reply is empty." in answer.text
    assert "typed long" in answer.text
    assert not SampleLabel.objects.exists()


@pytest.mark.parametrize(
    "data",
    [{}, {"status": "fine"}, {"status": "auto_approved"}, {"status": "approved", "notes": "x" * 5001},
     {"status": "approved", "expected_status": "x"}, {"status": "approved", "output": "a\0b"}],
)  # fmt: skip
def test_a_bad_form_comes_back(as_reviewer, sample, data):
    assert label(as_reviewer, **data).status_code == 422
    assert not SampleLabel.objects.exists()


def test_what_was_typed_is_not_lost_when_somebody_was_quicker(as_reviewer, sample):
    verdicts.label_sample("one", "rejected", by="root")
    answer = label(as_reviewer, status="approved", output="my careful edit", expected_status="pending")
    assert answer.status_code == 422
    assert "Somebody else has reviewed this sample: root chose Rejected." in answer.text
    assert "my careful edit" in answer.text
    assert 'name="expected_status" value="rejected"' in answer.text
    assert (
        label(as_reviewer, status="approved", output="my careful edit", expected_status="rejected").status_code == 302
    )


def test_then_comes_the_next_one_that_waits(as_reviewer, ada, bob):
    for number, (agent, status) in enumerate(
        [("ada", "pending"), ("bob", "pending"), ("ada", "approved"), ("ada", "pending"), ("ada", "pending")]
    ):
        SampleFactory(id=f"n{number}", agent_id=agent, created_at=1000 + number, annotation_status=status)
    assert label(as_reviewer, "n3", "?agent=ada", status="approved").url == "/samples/n0/?agent=ada"
    assert label(as_reviewer, "n0", "?agent=ada", status="approved").url == "/samples/n4/?agent=ada"
    assert label(as_reviewer, "n4", "?agent=ada", status="approved").url == "/samples/?agent=ada"
    assert label(as_reviewer, "n2", status="rejected").url == "/samples/n1/"


@pytest.mark.parametrize(
    "narrowed", ["session=s", "agent=ada&session=s", "reason=other&session=s", "type=annotated_turn"]
)
def test_in_any_narrowed_list_the_next_one_comes_from_it(as_reviewer, ada, narrowed):
    for number, session in enumerate(("s", "another", "s")):
        SampleFactory(id=f"n{number}", created_at=1000 + number, session_id=session)
    expected = {"type": "n1", "reason": ""}.get(narrowed.split("=")[0], "n0")
    address = f"/samples/{expected}/" if expected else "/samples/"
    assert label(as_reviewer, "n2", f"?{narrowed}", status="approved").url.startswith(address + "?")


def test_in_a_list_of_one_status_the_next_one_has_that_status(as_reviewer, ada):
    for number, status in enumerate(["needs_review", "pending", "needs_review"]):
        SampleFactory(id=f"n{number}", created_at=1000 + number, annotation_status=status)
    answer = label(as_reviewer, "n2", "?status=needs_review", status="approved")
    assert answer.url == "/samples/n0/?status=needs_review"


def test_the_next_page_offers_the_way_back(as_reviewer, ada):
    SampleFactory(id="a", created_at=2, turn_number=5)
    SampleFactory(id="b", created_at=1)
    answer = as_reviewer.post("/samples/a/label/", {"status": "approved"}, follow=True)
    assert "Turn 5: Approved." in answer.text
    assert '<a href="/samples/a/">' in answer.text


def test_of_two_at_the_same_time_one_wins(global_file):  # noqa: F811
    start = threading.Barrier(2)

    def judge(who):
        start.wait()
        return verdicts.label_sample("one", "approved", by=who, output=f"by {who}", expected_status="pending").output

    with ThreadPoolExecutor(2) as threads:
        threads.submit(call_and_close, SampleFactory, id="one").result()
        answers = [future.result() for future in [threads.submit(call_and_close, judge, who) for who in ("ada", "bob")]]
        stored = threads.submit(call_and_close, DatasetSample.objects.get, id="one").result()
        judged_by = threads.submit(
            call_and_close, list, SampleLabel.objects.values_list("labelled_by", flat=True)
        ).result()
    winner = "ada" if answers[0] == "by ada" else "bob"
    assert f"by {winner}" in answers
    assert any(f"Somebody else has reviewed this sample: {winner} chose Approved" in answer for answer in answers)
    assert (stored.annotated_by, stored.output) == (winner, f"by {winner}")
    assert judged_by == [winner]
