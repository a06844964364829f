"""Several people judge the items of a queue on its page, each blind."""

import re

import pytest

from datasets.models import DatasetSample, QueueItem, SampleLabel
from tests.datasets.page_text import read_text

pytestmark = pytest.mark.django_db


def judge(client, queue, sample, status, **data):
    address = f"/review/label/?review_queue={queue.id}"
    return client.post(address, {"sample": sample, "status": status, **data}, follow=True)


def find_shown_sample(page):
    match = re.search(r'id="review-sample".*?data-sample="([^"]*)"', page.text, re.DOTALL)
    return (match and match[1]) or None


def test_two_people_agree_and_a_third_verdict_is_refused(people, queue):
    page = people["ann"].get(f"/review/?review_queue={queue.id}")
    assert page.status_code == 200 and find_shown_sample(page) == "s1"
    assert "Replies" in read_text(page) and "3 to review" in read_text(page)
    assert find_shown_sample(judge(people["ann"], queue, "s1", "approved", notes="good")) == "s2"
    sample = DatasetSample.objects.get(id="s1")
    assert (sample.annotation_status, sample.label_id) == ("pending", None)
    page = people["bea"].get(f"/review/?review_queue={queue.id}")
    assert find_shown_sample(page) == "s1"
    assert "good" not in read_text(page) and not re.search(r"\bann\b", page.text)
    judge(people["bea"], queue, "s1", "approved")
    sample.refresh_from_db()
    label = SampleLabel.objects.get(id=sample.label_id)
    assert (sample.annotation_status, sample.annotated_by, label.queue_id) == ("approved", "bea", queue.id)
    assert QueueItem.objects.get(sample_id="s1").state == "done"
    refused = judge(people["cem"], queue, "s1", "rejected")
    assert refused.status_code == 422 and "This sample has all its verdicts in this queue." in read_text(refused)
    assert SampleLabel.objects.filter(sample="s1").count() == 2


def test_two_people_differ_and_an_adjudicator_decides(people, queue):
    judge(people["ann"], queue, "s1", "approved", output="Better.", notes="edited it")
    judge(people["bea"], queue, "s1", "rejected")
    item = QueueItem.objects.get(sample_id="s1")
    assert (item.state, DatasetSample.objects.get(id="s1").annotation_status) == ("conflict", "pending")
    place = f"?review_queue={queue.id}&conflicts=1"
    assert people["ann"].get(f"/review/{place}").status_code == 403
    page = people["dee"].get(f"/review/{place}")
    assert find_shown_sample(page) == "s1" and "<ins>Better</ins>" in page.text and "edited it" in read_text(page)
    assert not re.search(r"\b(ann|bea)\b", page.text)
    chosen = SampleLabel.objects.get(labelled_by="ann")
    people["dee"].post(f"/review/label/{place}", {"sample": "s1", "chosen": chosen.id})
    sample = DatasetSample.objects.get(id="s1")
    label = SampleLabel.objects.get(id=sample.label_id)
    assert (label.kind, label.labelled_by, sample.output, sample.annotation_status) == (
        *("adjudication", "dee", "Better.", "approved"),
    )
    item.refresh_from_db()
    assert item.state == "adjudicated"
    people["dee"].post(f"/review/undo/{place}")
    item.refresh_from_db()
    sample.refresh_from_db()
    assert (item.state, sample.annotation_status, sample.output) == ("conflict", "pending", None)
