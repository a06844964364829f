"""The rules of a queue: who may judge, who sees what, and what changes while people are at work."""

import orjson
import pytest

from datasets.dedup import signatures
from datasets.models import DatasetSample, QueueItem, QueueSeat, SampleLabel
from datasets.queues import queue_store
from openclaw_web import clock
from tests.datasets.page_text import read_text
from tests.datasets.queues.test_queue_review import find_shown_sample, judge
from tests.factories import T0, SampleFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def now(monkeypatch):
    """A clock that a test sets."""

    class Now:
        ms = T0

    monkeypatch.setattr(clock, "now_ms", lambda: Now.ms)
    return Now


def read_item(sample="s1"):
    item = QueueItem.objects.get(sample_id=sample)
    return item.state, item.seats.filter(label_id__isnull=False).count()


def change(people, queue, **data):
    fields = {"reviewers": queue.reviewers, "assigned": "", "adjudicators": "dee", "text": "", "questions": ""} | data
    return people["olga"].post(f"/review/queues/{queue.id}/change/", fields, follow=True)


def ask(client, sample="s1"):
    return client.get(f"/api/v1/samples/{sample}").json()


PLACES = (
    "/samples/s1/",
    "/api/v1/samples/s1",
    "/samples/",
    "/api/v1/samples",
    "/samples/?by=ann",
    "/review/?sample=s1",
)


@pytest.mark.parametrize("place", [*PLACES, "/review/?review_queue={queue}&sample=s1", "/samples/?format=csv"])
def test_nobody_sees_a_verdict_before_their_own(people, queue, place):
    judge(people["ann"], queue, "s1", "rejected", notes="a hushed note", output="a hushed edit", reason="tone")
    # Beside the queue as well: this verdict is in force.
    people["cem"].post(
        "/samples/s1/label/", {"status": "rejected", "notes": "another hushed", "output": "a hushed one too"}
    )
    place = place.format(queue=queue.id)
    answer = people["bea"].get(place)
    assert "hushed" not in (b"".join(answer).decode() if answer.streaming else answer.text)
    judge(people["bea"], queue, "s1", "approved")
    if place in PLACES[:2]:
        assert "a hushed note" in people["bea"].get(place).text
        assert "a hushed note" in people["root"].get(place).text


def test_a_covered_sample_is_as_before_all_verdicts_and_admins_see_it(people, queue):
    people["cem"].post("/samples/s1/label/", {"status": "approved", "output": "Edited."})
    assert (ask(people["bea"])["annotation_status"], ask(people["bea"])["output"], ask(people["bea"])["labels"]) == (
        *("pending", None, []),
    )
    assert ask(people["root"])["output"] == "Edited." and len(ask(people["root"])["labels"]) == 1
    assert [row["id"] for row in people["bea"].get("/api/v1/samples").json()["items"]] == ["s2", "s3"]
    token = (
        people["bea"]
        .post("/api/v1/operations/tokens", {"name": "x", "role": "viewer"}, content_type="application/json")
        .json()
    )
    limited = people["nobody"]
    limited.logout()
    headers = {"Authorization": f"Bearer {token['token']}"}
    assert limited.get("/api/v1/samples/s1", headers=headers).json()["output"] is None


@pytest.mark.parametrize("address", ["/samples/s1/label/", "/review/label/"])
def test_a_verdict_beside_the_queue_names_no_hidden_one(people, queue, address):
    people["cem"].post("/samples/s1/label/", {"status": "needs_review"})
    data = {"sample": "s1", "status": "rejected", "expected_status": "pending"}  # as the covered sample is
    page = people["bea"].post(address, data, follow=True)
    assert page.status_code == 200 and "cem" not in read_text(page)
    assert DatasetSample.objects.get(id="s1").annotated_by == "bea"


def test_one_verdict_of_each_person_and_undo_gives_the_place_back(people, queue):
    judge(people["ann"], queue, "s1", "approved", notes="mine")
    page = judge(people["ann"], queue, "s1", "rejected")
    assert page.status_code == 422 and "You have judged this sample in this queue." in read_text(page)
    people["ann"].post(f"/review/undo/?review_queue={queue.id}")
    assert read_item() == ("open", 0) and DatasetSample.objects.get(id="s1").annotation_status == "pending"
    page = people["ann"].get(f"/review/?review_queue={queue.id}&sample=s1")
    assert ">mine</textarea>" in page.text.replace("\n", "")  # what was typed is a draft again
    judge(people["ann"], queue, "s1", "rejected")
    judge(people["bea"], queue, "s1", "rejected")
    people["bea"].post(f"/review/undo/?review_queue={queue.id}")
    assert read_item() == ("open", 1) and DatasetSample.objects.get(id="s1").label_id is None
    judge(people["bea"], queue, "s1", "rejected")
    page = people["ann"].post(f"/review/undo/?review_queue={queue.id}", follow=True)
    assert "the sample has got its verdict since" in read_text(page) and read_item() == ("done", 2)


def test_a_reason_given_afterwards_belongs_to_the_verdict(people, queue):
    for name in ("ann", "bea"):
        judge(people[name], queue, "s1", "rejected")
        label = SampleLabel.objects.filter(labelled_by=name).latest("id")
        people[name].post(f"/review/reason/?review_queue={queue.id}", {"label": label.id, "reason": "tone"})
    assert read_item() == ("done", 2)
    sample = DatasetSample.objects.get(id="s1")
    assert (sample.annotation_status, sample.reject_reason) == ("rejected", "tone")
    assert QueueSeat.objects.get(reviewer="bea", item__sample_id="s1").label_id == sample.label_id
    people["bea"].post(f"/review/undo/?review_queue={queue.id}")
    assert read_item() == ("open", 1) and DatasetSample.objects.get(id="s1").reject_reason is None


def test_a_claim_counts_and_expires(people, queue, now):
    place = f"/review/?review_queue={queue.id}"
    assert [find_shown_sample(people[name].get(place)) for name in ("ann", "bea", "cem")] == ["s1", "s1", "s2"]
    now.ms += 90_000
    assert find_shown_sample(people["dee"].get(place)) == "s1"
    judge(people["bea"], queue, "s1", "approved")
    refused = judge(people["ann"], queue, "s1", "approved")  # Dee and Bea have the two places by now
    assert "Enough reviewers have this sample open or have judged it." in read_text(refused)
    assert read_item() == ("open", 1)


def test_fewer_reviewers_close_what_has_enough_verdicts(people, queue):
    judge(people["ann"], queue, "s1", "approved")
    people["bea"].get(f"/review/?review_queue={queue.id}")  # holds s1
    change(people, queue, reviewers=1)
    assert read_item() == ("done", 1) and DatasetSample.objects.get(id="s1").annotated_by == "ann"
    page = judge(people["bea"], queue, "s1", "rejected")
    assert "This sample has all its verdicts in this queue." in read_text(page)
    people["ann"].post("/review/undo/")
    assert read_item() == ("open", 0) and DatasetSample.objects.get(id="s1").annotation_status == "pending"


def test_a_removed_reviewer_keeps_verdicts_and_loses_claims(people, queue):
    judge(people["ann"], queue, "s1", "approved")
    assert QueueSeat.objects.filter(reviewer="ann", label_id=None).count() == 1  # the next one
    change(people, queue, assigned="bea cem")
    assert list(QueueSeat.objects.values_list("reviewer", "item__sample_id")) == [("ann", "s1")]
    assert judge(people["ann"], queue, "s2", "approved").status_code == 403
    judge(people["bea"], queue, "s1", "approved")
    assert read_item() == ("done", 2)


def test_a_closed_queue_takes_no_verdict(people, queue):
    people["olga"].post(f"/review/queues/{queue.id}/change/", {"state": "closed"})
    page = judge(people["ann"], queue, "s1", "approved")
    assert page.status_code == 422 and "This queue is closed." in read_text(page)
    people["olga"].post(f"/review/queues/{queue.id}/change/", {"state": "open"})
    assert judge(people["ann"], queue, "s1", "approved").status_code == 200


def test_each_verdict_names_its_guideline_time_and_answers(people, queue, now):
    change(people, queue, text="Be strict.", questions="scale: Help\nchoice: Tone | formal | casual\nspan: Wrong part")
    page = people["ann"].get(f"/review/?review_queue={queue.id}")
    assert "Be strict." in read_text(page) and 'name="guideline" value="2"' in page.text
    change(people, queue, text="Be kind.", questions="scale: Help")  # while Ann reads
    now.ms += 12_400
    fields = {"guideline": "2", "question": ["Help", "Tone", "Wrong part"]}
    answers = {"answer_1": "4", "answer_2": "casual", "answer_3": "the last line"}
    assert judge(people["ann"], queue, "s1", "approved", **fields, **answers).status_code == 200
    label = SampleLabel.objects.get()
    assert (label.guideline, label.seconds) == (2, 12)
    assert label.answers == {"Help": "4", "Tone": "casual", "Wrong part": "the last line"}
    for answer, sentence in {"9": "has no answer “9”", "": ""}.items():
        page = judge(people["bea"], queue, "s1", "approved", question=["Help"], answer_1=answer)
        assert sentence in read_text(page)
    assert SampleLabel.objects.latest("id").guideline == 3
    page = judge(
        people["ann"], queue, "s2", "approved", guideline="2", question=["Wrong part"], answer_1="no such words"
    )
    assert "copy a part of the message or the reply" in read_text(page)


def test_twins_get_the_verdict_that_all_reviewers_gave_them(people, queue):
    SampleFactory(id="t1", created_at=2000)
    SampleFactory(id="t2", created_at=1999)
    SampleFactory(id="cut", created_at=1998, reply_stop="length")
    for sample in DatasetSample.objects.filter(id__in=("t1", "t2", "cut")):
        signatures.ensure_signature(sample)
    twins = queue_store.create_queue("Twins", by="root", reviewers=2)
    page = people["ann"].get(f"/review/?review_queue={twins.id}")
    assert find_shown_sample(page) == "t1" and "The same verdict for 2 other samples with these words" in read_text(
        page
    )
    judge(people["ann"], twins, "t1", "approved", output="Shorter.", with_twins="1")
    assert DatasetSample.objects.get(id="t2").annotation_status == "pending"
    judge(people["bea"], twins, "t1", "approved", output="Shorter.", with_twins="1")
    rows = DatasetSample.objects.filter(id__in=("t1", "t2", "cut")).order_by("id")
    assert list(rows.values_list("id", "annotation_status", "output")) == [
        ("cut", "pending", None), ("t1", "approved", "Shorter."), ("t2", "approved", "Shorter."),
    ]  # fmt: skip
    for _undo in range(2):
        people["bea"].post(f"/review/undo/?review_queue={twins.id}")
    assert set(rows.values_list("annotation_status", "output")) == {("pending", None)}


def test_known_items_are_mixed_in_and_not_changed(people, queue, admin=None):
    for number in range(4):
        SampleFactory(id=f"known{number}", created_at=number)
        people["root"].post(f"/samples/known{number}/label/", {"status": "approved"})
    mixed = queue_store.create_queue("Mixed", by="root", reviewers=1, sample_filter="status:pending", gold_share=40)
    gold = mixed.items.get(sample_id=mixed.items.filter(gold_label__isnull=False).values("sample_id")[:1])
    assert mixed.items.count() == 5 and mixed.items.filter(gold_label__isnull=False).count() == 2
    page = people["ann"].get(f"/review/?review_queue={mixed.id}&sample={gold.sample_id}")
    assert 'class="badge">Pending' in page.text and "root" not in page.text
    judge(people["ann"], mixed, gold.sample_id, "rejected")
    assert read_item(gold.sample_id) == ("done", 1)
    assert DatasetSample.objects.get(id=gold.sample_id).annotation_status == "approved"
    page = people["olga"].get(f"/review/queues/{mixed.id}/agreement/")
    assert "ann 1 0.00" in read_text(page)
    people["ann"].post("/review/undo/")
    assert read_item(gold.sample_id) == ("open", 0)


def test_a_decision_that_both_corrected_alike_is_one_verdict(people, ada, queue):
    body = {
        "type": "memory_gate_positive",
        "correctDecision": "UPDATE_USER",
        "correctFact": "likes tea",
        "correctReason": "Said so.",
        "evidence": {},
        "conversation": [{"role": "user", "message": "I like tea."}],
    }
    SampleFactory(id="g1", sample_type="memory_gate_positive", content=orjson.dumps(body).decode(), created_at=3000)
    gates = queue_store.create_queue("Gates", by="root", reviewers=2, sample_filter="type:memory_gate_positive")
    parts = {"gate_label": "corrected", "gate_decision": "NO_WRITE", "gate_reason": "Small talk."}
    judge(people["ann"], gates, "g1", "approved", **parts)
    assert DatasetSample.objects.get(id="g1").sample_type == "memory_gate_positive"
    judge(people["bea"], gates, "g1", "approved", **parts | {"gate_reason": "Not lasting."})
    sample = DatasetSample.objects.get(id="g1")
    assert (sample.sample_type, sample.body["correctDecision"], read_item("g1")) == (
        *("memory_gate_negative", "NO_WRITE", ("done", 2)),
    )
    people["bea"].post("/review/undo/")
    sample.refresh_from_db()
    assert (sample.sample_type, sample.body, read_item("g1")) == ("memory_gate_positive", body, ("open", 1))


def test_two_adjudicators_and_one_of_the_two_reviewers(people, queue):
    judge(people["dee"], queue, "s1", "approved")
    judge(people["bea"], queue, "s1", "rejected")
    place = f"?review_queue={queue.id}&conflicts=1"
    page = people["dee"].post(f"/review/label/{place}", {"sample": "s1", "status": "approved"})
    assert page.status_code == 422 and "One of these verdicts is yours." in read_text(page)
    change(people, queue, adjudicators="cem")
    page = people["cem"].post(f"/review/label/{place}", {"sample": "s1", "status": "approved"})
    assert page.status_code == 422 and "dee has this sample open" in read_text(page)
    people["dee"].post("/api/v1/review/claims/s1/release", {}, content_type="application/json")
    people["root"].post(f"/review/label/{place}", {"sample": "s1", "status": "needs_review", "notes": "a third one"})
    assert DatasetSample.objects.get(id="s1").annotation_status == "needs_review"
    page = people["cem"].post(f"/review/label/{place}", {"sample": "s1", "status": "approved"})
    assert page.status_code == 422 and "no conflict that waits" in read_text(page)


def test_skipped_items_are_left_to_others_and_the_order_is_a_choice(people, queue):
    QueueItem.objects.filter(sample_id="s3").update(value=9_000, reason="conflict")
    place = f"?review_queue={queue.id}"
    page = people["ann"].get(f"/review/{place}")
    assert find_shown_sample(page) == "s3" and "Comes now because: Verdicts differ" in read_text(page)
    assert find_shown_sample(people["bea"].get(f"/review/{place}&order=newest")) == "s1"
    page = people["ann"].post(f"/review/skip/{place}", {"sample": "s3"}, follow=True)
    assert find_shown_sample(page) == "s1"
    assert find_shown_sample(people["ann"].get(f"/review/{place}&skipped=1")) == "s3"


def test_the_same_filter_adds_what_is_new(people, queue):
    SampleFactory(id="s0", created_at=5000)
    page = people["olga"].post(f"/review/queues/{queue.id}/extend/", follow=True)
    assert "1 item was added." in read_text(page) and queue.items.count() == 4
    page = people["olga"].post(f"/review/queues/{queue.id}/extend/", follow=True)
    assert "No other sample fits the filter of this queue." in read_text(page)


def test_a_verdict_without_the_queue_is_as_before(people, queue):
    people["ann"].post("/review/label/", {"sample": "s1", "status": "approved"})
    sample = DatasetSample.objects.get(id="s1")
    label = SampleLabel.objects.get()
    assert (sample.annotation_status, label.queue_id, label.kind, read_item()) == ("approved", None, None, ("open", 0))
