"""Two people judge a queue by keyboard alone, in real browsers on a real `serve`."""

import pytest

from tests.datasets.review.conftest import complaints, site  # noqa: F401 - fixtures
from tests.datasets.review.people import Person

pytestmark = pytest.mark.browser
CREATE = """
from datasets.queues import queue_store
print(queue_store.create_queue("Replies", by="root", reviewers=2, text="Be fair.").id)
"""
STATES = "SELECT group_concat(state) FROM (SELECT state FROM queue_items WHERE state <> 'open' ORDER BY id)"


def test_two_people_judge_by_keyboard(site, complaints):  # noqa: F811
    ann, bea = (Person(site, name, complaints) for name in ("ann", "bea"))
    queue = site.home.python(CREATE).strip()
    for person in (ann, bea):
        person.page.goto(f"{site.address}/review/?review_queue={queue}")
    assert ann.sample == bea.sample == "s00"
    for key in "aar":
        ann.press(key)
    for key in "ara":
        bea.press(key)
    for person in (ann, bea):
        person.settled()
    assert site.home.count(STATES) == "done,conflict,conflict"
    assert [site.stored()[name] for name in ("s00", "s01", "s02")] == ["approved", "pending", "pending"]
    bea.press("u")
    assert bea.sample == "s02" and site.home.count(STATES) == "done,conflict"
    bea.press("r")
    bea.settled()
    assert site.home.count(STATES) == "done,conflict,done" and site.stored()["s02"] == "rejected"
