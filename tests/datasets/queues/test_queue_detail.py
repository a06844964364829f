"""The page of one review queue."""

import pytest

from datasets.models import Guideline, ReviewQueue
from people.models.bookkeeping import AuditEntry
from tests.datasets.page_text import read_text
from tests.datasets.queues.test_queue_review import judge

pytestmark = pytest.mark.django_db


def test_it_works(people, queue):
    for name, status in (("ann", "approved"), ("bea", "rejected")):
        judge(people[name], queue, "s1", status)
    address = f"/review/queues/{queue.id}/"
    page = people["ann"].get(address)
    assert "For you 2 Open 2 Finished 0 Conflict 1 Decided 0" in read_text(page)
    assert "Decide conflicts" not in read_text(page) and "Change the queue" not in read_text(page)
    assert "Decide conflicts" in read_text(people["dee"].get(address))
    assert "Change the queue" in read_text(people["olga"].get(address))
    assert people["vera"].get(address).status_code == 403
    assert people["ann"].get("/review/queues/none/").status_code == 404


def test_a_changed_guideline_is_a_new_version(people, queue):
    fields = {
        "reviewers": "3",
        "assigned": "ann bea cem",
        "adjudicators": "",
        "text": "New.",
        "questions": "scale: Help",
    }
    address = f"/review/queues/{queue.id}/change/"
    assert people["ann"].post(address, fields).status_code == 403
    page = people["olga"].post(address, fields, follow=True)
    assert "The queue is changed." in read_text(page) and "Version 2" in read_text(page)
    people["olga"].post(address, fields)
    assert list(Guideline.objects.values_list("number", "text", "written_by")) == [(1, "", "root"), (2, "New.", "olga")]
    stored = ReviewQueue.objects.get()
    assert (stored.reviewers, stored.assigned, stored.adjudicators) == (3, ["ann", "bea", "cem"], [])
    assert AuditEntry.objects.filter(action="review_queue_changed").count() == 2
    page = people["olga"].post(address, fields | {"assigned": "nobody"})
    assert page.status_code == 422 and "There is no user named nobody." in read_text(page)


def test_the_first_page_of_a_labeller_is_their_queues(people, queue):
    for name in ("dee", "olga"):
        people[name].get("/")
    client = people["fay"]
    page = client.get("/", follow=True)
    assert page.redirect_chain == [("/review/queues/", 302)]
    assert client.get("/").status_code == 200  # the next time it is the overview
    assert people["otto"].get("/?from=2026-01-01").status_code in (200, 302)
    ReviewQueue.objects.update(state="closed")
    assert people["gus"].get("/").status_code == 200
