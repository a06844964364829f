"""A queue for two reviewers, and people who are signed in."""

import pytest
from django.test import Client

from datasets.models import ReviewQueue
from datasets.queues import queue_store
from tests.conftest import BACKEND
from tests.factories import SampleFactory, UserFactory


class People(dict):
    """A signed-in browser for each name, created when it is first used; `root` is an admin."""

    def __missing__(self, name):
        role = {"root": "admin", "olga": "operator", "vera": "viewer"}.get(name, "labeller")
        client = self[name] = Client()
        client.force_login(UserFactory(username=name, role=role), backend=BACKEND)
        return client


@pytest.fixture
def people(db):
    """Ann, Bea, Cem and Dee are labellers."""
    people = People()
    for name in ("ann", "bea", "cem", "dee", "root"):
        people[name].get("/")
    return people


@pytest.fixture
def samples(ada):
    """Three samples, newest first: s1, s2, s3."""
    for number in (1, 2, 3):
        SampleFactory(id=f"s{number}", created_at=1000 - number, turn_number=number)


@pytest.fixture
def queue(people, samples) -> ReviewQueue:
    """A queue of these samples for two reviewers."""
    return queue_store.create_queue("Replies", by="root", reviewers=2, adjudicators=["dee"])
