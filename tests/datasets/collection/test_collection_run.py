"""The page of one run."""

import pytest

from datasets.models import CollectionRun
from people.models.bookkeeping import AuditEntry
from tests.datasets.collection.collecting import run_jobs, store_written, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_a_run_from_the_page_to_its_turns(as_reviewer):
    page = as_reviewer.post("/collection/start/", {"agent": "ada", "type": "all"})
    run = CollectionRun.objects.get()
    assert page.url == run.get_absolute_url()
    run_jobs()
    page = text(as_reviewer.get(run.get_absolute_url()))
    assert f"{run.get_absolute_url()}sample/" in page
    assert f"{run.get_absolute_url()}no_criterion/" in page
    assert AuditEntry.objects.filter(action="collection_started", actor="reviewer").exists()
    assert "Run 1" in text(as_reviewer.get("/collection/"))
