"""`reflection guardian run` and `retry`: what would be sent, and sending it."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command

from people.configuration import keys as configuration
from tests.guardian.written import wrote

from .proposed import DB, HELD, decided, runs, writes

pytestmark = pytest.mark.django_db


def said(*words):
    """Status, standard output and what was said of a verb for ada."""
    out = io.StringIO()
    try:
        call_command("reflection", "guardian", words[0], "--agent", "ada", *words[1:], stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def test_without_yes_nothing_is_sent(ada, workspace, endpoint):
    decided(0)
    decided(1)
    status, out, _error = said("run", "--limit", "1")
    lines = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    told = {name: value.strip() for name, value in lines.items()}
    assert status == 3
    assert (told["Facts"], told["Files"], told["Endpoint"]) == ("1", "USER.md", endpoint.url.split("/")[2])
    assert "Repeat the command with --yes" in out
    status, out, _error = said("run", "--dry-run", "--json")
    assert (status, orjson.loads(out)["plan"]["facts"]) == (0, 2)
    assert not endpoint.requests


def test_with_yes_it_is_sent(ada, workspace, endpoint):
    decided()
    assert said("run", "--yes")[:2] == (0, "1 fact handled. 1 proposal waits for review.\n")
    assert runs()[0].started_by == "command line"


def test_retrying(ada, workspace, endpoint):
    wrote(DB, 1, None, b"x\n", target_file="USER.md")
    status, out, _error = said("retry", "w1", "--fact", "Likes green tea.")
    assert (status, "Facts" in out, runs()) == (3, True, [])
    endpoint.then(*writes(HELD + "- Likes green tea.\n"))
    assert said("retry", "w1", "--fact", "Likes green tea.", "--yes")[0] == 0
    assert (runs()[0].retry_of, runs()[0].state) == ("w1", "proposed")
    assert said("retry", "nothing")[0] == 3


def test_what_cannot_be_meant_is_refused(ada, workspace, endpoint):
    assert said("run", "--limit", "0")[0] == 2
    assert said("run", "--since", "yesterday")[0] == 2
    assert said("retry", "w1", "--file", "AGENTS.md")[0] == 2
    decided()
    configuration.put("writeGuardian.enabled", False)
    status, _out, error = said("run", "--yes")
    assert (status, "writeGuardian.enabled is off" in error) == (3, True)
