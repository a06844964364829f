"""Other switches and thresholds, and saving them."""

import pytest

from datasets.models import CollectionStrategy, DatasetSample, TurnOutcome
from people.models.bookkeeping import AuditEntry
from tests.datasets.collection.collecting import EASY, LOOSE, collect, post_json, save, store_written, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_other_thresholds(as_admin):
    collect(is_dry=True)
    assert "Turns that change side" in text(as_admin.get("/collection/what-if/"))
    page = text(as_admin.get("/collection/what-if/", LOOSE, headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert "Review → Approve" in page
    assert "noUserObjection: Not known → off" in page
    assert not DatasetSample.objects.exists()
    whole = text(as_admin.get("/collection/what-if/", LOOSE))
    assert "csrfmiddlewaretoken" not in whole[whole.index('hx-get="/collection/what-if/"') : whole.index('id="sides"')]
    assert 'name="minQualityScore" value="0"' in whole[whole.index("/collection/what-if/save/") :]


def test_a_saved_version(as_admin):
    page = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "default"})
    assert page.url == "/collection/"
    version = CollectionStrategy.objects.get(version=2)
    assert version.criteria["positiveCriteria"]["noUserObjection"] is False
    again = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "default"})
    assert again.status_code == 422
    assert "Nothing was changed" in again.content.decode()
    wrong = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "No Name!"})
    assert wrong.status_code == 422
    entry = AuditEntry.objects.get(action="strategy_saved")
    assert (entry.actor, entry.object_id) == ("root", "default 2")


def test_the_counts_are_those_of_a_run(as_admin):
    """Turns go where the page counted them, with the saved version."""
    collect(is_dry=True)
    compared = post_json(as_admin, "/collection/what-if", {"changes": {**EASY, "turns": True}}).json()
    switched = [row for row in compared["turns"] if row["before"] == "leave" and row["after"] == "review"]
    assert all({"criterion": "turns", "before": "", "after": "yes"} in row["reasons"] for row in switched)
    assert len(switched) == 2
    counted = compared["after"]
    save(**EASY, turns=True)
    counts = collect()
    assert counts == {"sample": 3}
    assert counted == {"approve": 1, "review": 2, "reject": 0, "leave": 0}
    assert TurnOutcome.objects.count() == sum(counted.values())
