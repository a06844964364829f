"""`reflection guardian run` and `retry`: the preview of what is sent, and the sending."""

from functools import partial

import pytest

from tests.guardian.write_rows import create_write
from tests.suite import commands

from .proposal_rows import DB, HELD, create_decision, runs, writes

pytestmark = pytest.mark.django_db
run_verb = partial(commands.reflection, "guardian")


def test_with_yes_it_is_sent(ada, workspace, endpoint):
    create_decision()
    assert run_verb("run", "--yes")[:2] == (0, "1 fact handled. 1 proposal waits for review.\n")
    assert runs()[0].started_by == "command line"


def test_retrying(ada, workspace, endpoint):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    status, out, _error = run_verb("retry", "w1", "--fact", "Likes green tea.")
    assert (status, "Facts" in out, runs()) == (3, True, [])
    endpoint.then(*writes(HELD + "- Likes green tea.\n"))
    assert run_verb("retry", "w1", "--fact", "Likes green tea.", "--yes")[0] == 0
    assert (runs()[0].retry_of, runs()[0].state) == ("w1", "proposed")
    assert run_verb("retry", "nothing")[0] == 3


def test_what_cannot_be_meant_is_refused(ada):
    assert run_verb("retry", "w1", "--file", "AGENTS.md")[0] == 2
