"""Why a turn or a sample is where it is."""

import pytest

from datasets.models import DatasetSample
from tests.datasets.collection.collecting import AFTER, BEFORE, DB, collect, store_written, text
from tests.guardian.write_rows import create_rollback

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_why_a_turn_is_no_sample(as_stranger, ada):
    address = "/agents/ada/sessions/s1/turns/{}/outcome/"
    assert "No run has checked this turn yet" in text(as_stranger.get(address.format(1)))
    collect()
    assert "No criterion fits" in text(as_stranger.get(address.format(1)))
    page = text(as_stranger.get(address.format(2)))
    assert "Already a sample" in page
    assert "/agents/ada/writes/w1/" in page
    assert as_stranger.get(address.format(9)).status_code == 404
    links = text(as_stranger.get("/agents/ada/sessions/s1/samples/of/?turn=1&turn=2"))
    assert "/turns/1/outcome/" in links
    assert "/turns/2/outcome/" not in links


def test_why_a_sample_is_here(as_stranger):
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    collect()
    page = text(as_stranger.get(DatasetSample.objects.get().get_absolute_url()))
    assert "Why it is here" in page
    assert "/agents/ada/writes/w1/" in page  # the rollback leads to its write
    assert "hasBehaviorCorrection" in page
