"""The page of review queues, with the form for a new one."""

import pytest

from datasets.models import QueueItem, ReviewQueue, ScoreCall
from people.models.bookkeeping import AuditEntry
from tests.datasets.page_text import read_text
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
FIELDS = {
    "name": "Second",
    "sample_filter": "status:pending",
    "reviewers": "3",
    "gold_share": "0",
    "assigned": "bea, cem",
}


def test_it_works(people, queue):
    page = people["ann"].get("/review/queues/")
    assert page.status_code == 200 and "Replies 3 2 Open" in read_text(page)
    assert "New queue" not in read_text(page) and "New queue" in read_text(people["olga"].get("/review/queues/"))


def test_an_operator_creates_a_queue_with_questions(people, samples):
    SampleFactory(id="judged", annotation_status="approved")
    questions = "scale: How helpful?\nchoice: Tone | formal | casual\nspan: Which part is wrong?"
    data = FIELDS | {"questions": questions, "text": "Be strict."}
    assert people["ann"].post("/review/queues/create/", data).status_code == 403
    page = people["olga"].post("/review/queues/create/", data, follow=True)
    queue = ReviewQueue.objects.get()
    assert page.redirect_chain == [(f"/review/queues/{queue.id}/", 302)] and "Be strict." in read_text(page)
    assert (queue.reviewers, queue.assigned, queue.created_by) == (3, ["bea", "cem"], "olga")
    assert sorted(queue.items.values_list("sample_id", flat=True)) == ["s1", "s2", "s3"]
    assert [row["kind"] for row in queue.guidelines.get().questions] == ["scale", "choice", "span"]
    assert AuditEntry.objects.get(action="review_queue_created").object_id == queue.id


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "Replies", "There is already a queue named Replies."),
        ("sample_filter", "status:approved", "No sample fits this filter."),
        ("sample_filter", "colour:red", "colour"),
        ("assigned", "nobody", "There is no user named nobody."),
        ("reviewers", "6", "less than or equal to 5"),
        ("gold_share", "51", "less than or equal to 50"),
        ("questions", "essay: Why?", "“essay: Why?” is no question."),
        ("questions", "choice: Tone | one", "A choice needs 2 to 9 different answers"),
        ("questions", "\n".join(f"scale: {number}" for number in range(6)), "at most 5 questions"),
    ],
)
def test_what_is_not_valid_is_refused(people, queue, field, value, sentence):
    page = people["olga"].post("/review/queues/create/", FIELDS | {field: value})
    assert page.status_code == 422 and sentence in read_text(page)
    assert ReviewQueue.objects.count() == 1


def test_the_page_of_the_queue_offers_the_queues_of_a_person(people, queue):
    ReviewQueue.objects.update(assigned_json='["bea"]')
    assert 'id="my-queues"' in people["bea"].get("/review/").text
    assert 'id="my-queues"' not in people["ann"].get("/review/").text
    assert people["ann"].get(f"/review/?review_queue={queue.id}").status_code == 403
    assert people["ann"].get(f"/review/queues/{queue.id}/").status_code == 403


def test_samples_of_the_same_words_are_one_item_and_rare_ones_come_early(people, ada):
    from datasets.dedup import signatures
    from datasets.queues import queue_store

    for number in range(30):
        body = f'{{"type":"annotated_turn","userMessage":"Question {number}","agentReply":"Answer {number}"}}'
        SampleFactory(id=f"d{number:02}", created_at=number, content=body)
    SampleFactory(id="twin", created_at=50, content=body)
    SampleFactory(id="score", created_at=1, quality_score=0.4)
    SampleFactory(id="good", created_at=2, quality_score=0.9)
    SampleFactory(id="doubted", created_at=4, quality_score=0.9)  # by the model alone
    call = {"id": "c1", "created_at": 1, "llm_model": "m", "prompt_version": "p", "outcome": "scored"}
    ScoreCall.objects.create(sample_id="doubted", score=0.5, **call)
    SampleFactory(id="rare", created_at=3, turn_traits="tools")
    signatures.renew(["twin", *(f"d{number:02}" for number in range(30))])
    queue = queue_store.create_queue("All", by="root")
    order = list(QueueItem.objects.order_by("-value", "-sample_created_at", "-id").values_list("sample_id", "reason"))
    assert order[:5] == [("doubted", "score"), ("score", "score"), ("rare", "rare"), ("twin", "twins"), ("d28", "new")]
    assert queue.items.get(sample_id="twin").twins == ["d29"] and queue.items.count() == 34
