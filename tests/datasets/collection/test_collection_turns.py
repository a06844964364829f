"""The turns behind each number of a run."""

import pytest

from datasets.models import CollectionRun
from tests.datasets.collection.collecting import collect, store_written, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_the_turns_of_each_number(as_stranger):
    collect()
    run = CollectionRun.objects.get()
    turns = text(as_stranger.get(f"{run.get_absolute_url()}no_criterion/"))
    assert "/agents/ada/sessions/s1/turns/1/outcome/" in turns
    assert "/agents/ada/sessions/s1/turns/2/outcome/" not in turns
    assert as_stranger.get(f"{run.get_absolute_url()}nothing/").status_code == 404
