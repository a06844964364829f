"""The page with runs, strategies and the form of a new run."""

import pytest

from datasets.models import CollectionRun
from tests.datasets.collection.collecting import LOOSE, store_written, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_who_may_not(as_stranger, as_reviewer):
    assert as_stranger.post("/collection/start/", {}).status_code == 403
    assert as_reviewer.post("/collection/what-if/save/", LOOSE | {"name": "default"}).status_code == 403
    assert text(as_stranger.get("/collection/what-if/"))


def test_a_refused_run_keeps_the_form(as_reviewer):
    page = as_reviewer.post("/collection/start/", {"agent": "nobody"})
    assert page.status_code == 422
    assert "There is no agent" in page.content.decode()
    assert not CollectionRun.objects.exists()
