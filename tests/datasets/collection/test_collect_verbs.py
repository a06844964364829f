"""The verbs `collect` and `what-if`."""

import pytest

from datasets.collection import strategies
from tests.datasets.collection.collecting import EASY, collect, store_written
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_the_verbs():
    receipt = read_receipt("collect", "--dry-run")["collection"]
    assert (receipt["dry_run"], receipt["turns"], receipt["samples"]) == (True, 3, 1)
    receipt = read_receipt("collect", "-s", "s1", "-t", "all", "--since", "2020-01-01")["collection"]
    assert (receipt["samples"], receipt["reasons"]) == (1, {"no_criterion": 2})
    _status, out, _error = run_verb("collect")
    assert "Already a sample: 1" in out
    assert "since" in read_refusal("collect", "--since", "soon", status=2)
    assert "no strategy" in read_refusal("collect", "--strategy", "none")


def test_the_verb_what_if():
    collect()
    changes = [f"{name}={str(value).lower()}" for name, value in EASY.items()]
    receipt = read_receipt("what-if", *(word for change in changes for word in ("--set", change)))["what_if"]
    assert (receipt["after"]["approve"], len(receipt["turns"])) == (1, 1)
    assert read_receipt("what-if", "--set", "turns=true", "--save", "mine")["what_if"]["saved"] == "mine 1"
    assert strategies.find_in_force("mine").criteria["turns"] is True
    assert "neither" in read_refusal("what-if", "--set", "turns=maybe", status=2)
    assert "no criterion" in read_refusal("what-if", "--set", "other=1")
