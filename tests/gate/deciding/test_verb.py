"""`reflection gate run`: what would be sent, and sending it."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command

from people.configuration import keys as configuration
from tests.llm_endpoint import fails, says

from .judged import calls, decides, decisions, talk

pytestmark = pytest.mark.django_db


def said(*words):
    """Status, standard output and what was said of a run of the verb for ada."""
    out = io.StringIO()
    try:
        call_command("reflection", "gate", "run", "--agent", "ada", *words, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def test_without_yes_nothing_is_sent(ada, endpoint):
    talk(3)
    configuration.put("llm.prices", ["small: 1 10"])
    status, out, _error = said("--limit", "2")
    assert status == 3
    lines = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    told = {name: value.strip() for name, value in lines.items()}
    assert (told["Turns"], told["Endpoint"], told["Model"]) == ("2", endpoint.url.split("/")[2], "small")
    assert told["Estimated cost"].startswith("$0.00")
    assert "Repeat the command with --yes" in out
    assert (endpoint.requests, list(calls())) == ([], [])


def test_a_dry_run_is_no_refusal(ada, endpoint):
    talk(1)
    status, out, _error = said("--dry-run", "--json")
    assert (status, orjson.loads(out)["plan"]["turns"]) == (0, 1)
    assert not endpoint.requests


def test_with_yes_it_is_sent(ada, endpoint):
    talk(3)
    status, out, error = said("--yes", "--since", "2026-01-05T00:01", "--json")
    assert (status, error) == (0, "")
    receipt = orjson.loads(out)
    assert (receipt["ok"], receipt["run"]["decided"], receipt["plan"]) == (True, 2, None)
    assert decisions().count() == 2
    assert said("--yes", "--again")[1] == "1 turn judged.\n"


def test_what_was_not_judged_is_in_the_status(ada, endpoint):
    talk(2)
    endpoint.then(says("no decision"), decides())
    status, out, _error = said("--yes")
    assert (status, out) == (4, "1 turn judged. 1 answer was no decision.\n")
    endpoint.then(fails(401))
    status, _out, error = said("--yes")
    assert (status, "refused the key" in error) == (3, True)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--limit", "0"), 2, "--limit must be 1 or more."),
        (("--since", "yesterday"), 2, "is not an ISO 8601 time"),
        (("--yes", "--dry-run"), 2, "not allowed with"),
        (("--session", "nobody"), 3, "no session nobody"),
    ],
)
def test_what_cannot_be_meant_is_refused(ada, endpoint, words, status, sentence):
    found, _out, error = said(*words)
    assert (found, sentence in error) == (status, True)


def test_while_the_gate_is_off_it_says_so(ada, endpoint):
    configuration.put("memoryGate.enabled", False)
    talk(1)
    status, out, _error = said()
    assert (status, "memoryGate.enabled is off" in out) == (3, True)
    status, _out, error = said("--yes")
    assert (status, "memoryGate.enabled is off" in error) == (3, True)
