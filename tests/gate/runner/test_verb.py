"""`reflection gate run`: the plan, and sending requests."""

from functools import partial

import orjson
import pytest

from tests.llm_endpoint import fails, says
from tests.suite import commands

from .judged_turns import create_turns, decides, decisions

pytestmark = pytest.mark.django_db
run_verb = partial(commands.reflection, "gate", "run")


def test_with_yes_it_is_sent(ada, endpoint):
    create_turns(3)
    status, out, error = run_verb("--yes", "--since", "2026-01-05T00:01", "--json")
    assert (status, error) == (0, "")
    receipt = orjson.loads(out)
    assert (receipt["ok"], receipt["run"]["decided"], receipt["plan"]) == (True, 2, None)
    assert decisions().count() == 2
    assert run_verb("--yes", "--again")[1] == "1 turn judged.\n"


def test_what_was_not_judged_is_in_the_status(ada, endpoint):
    create_turns(2)
    endpoint.then(says("no decision"), decides())
    status, out, _error = run_verb("--yes")
    assert (status, out) == (4, "1 turn judged. 1 answer was no decision.\n")
    endpoint.then(fails(401))
    status, _out, error = run_verb("--yes")
    assert (status, "refused the key" in error) == (3, True)
