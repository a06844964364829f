"""The page of how far the reviewers of a queue agree."""

import pytest

from datasets.queues import queue_store
from tests.datasets.page_text import read_text
from tests.datasets.queues.test_queue_review import judge
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db


def test_it_works(people, queue):
    for name in ("ann", "bea"):
        judge(people[name], queue, "s1", "approved")
    page = people["olga"].get(f"/review/queues/{queue.id}/agreement/")
    assert page.status_code == 200
    assert "All 1 Not enough. Items needed: 20." in read_text(page) and "ann · bea 1" in read_text(page)
    assert people["ann"].get(f"/review/queues/{queue.id}/agreement/").status_code == 403


def test_values_with_their_intervals_from_twenty_items_on(people, ada):
    for number in range(20):
        SampleFactory(id=f"s{number:02}", created_at=number)
    queue = queue_store.create_queue("Twenty", by="root")
    for number in range(20):
        judge(people["ann"], queue, f"s{number:02}", "approved" if number < 12 else "rejected")
        judge(people["bea"], queue, f"s{number:02}", "approved" if number < 10 else "rejected")
    people["cem"].post("/samples/s00/label/", {"status": "rejected"})  # not in the queue: does not count
    text = read_text(people["olga"].get(f"/review/queues/{queue.id}/agreement/"))
    assert "All 20 0.90 0.70 – 0.97 0.80 0.54 – 1.00 0.80" in text  # percent, alpha, AC1
    assert "ann · bea 20 0.90" in text
    [group] = [
        group
        for group in people["olga"].get(f"/api/v1/review/queues/{queue.id}/agreement").json()["groups"]
        if group["pair"]
    ]
    assert group["measures"]["kappa"]["value"] == pytest.approx(0.8)
    assert group["measures"]["positive"]["value"] == pytest.approx(20 / 22)
    assert group["measures"]["negative"]["value"] == pytest.approx(16 / 18)
