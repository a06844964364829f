"""`reflection gate replay`: the plan, and sending requests."""

from functools import partial

import orjson
import pytest

from tests.gate.runner.judged_turns import decides
from tests.llm_endpoint import fails, says
from tests.suite import commands

from .replay_rows import create_decisions, replays, rows

pytestmark = pytest.mark.django_db
run_verb = partial(commands.reflection, "gate", "replay")


def test_without_yes_nothing_is_sent(ada, endpoint):
    create_decisions(4)
    status, out, _error = run_verb("--model", "other", "--decision", "NO_WRITE")
    assert status == 3
    plan_lines = {name: value.strip() for name, _gap, value in (line.partition("  ") for line in out.splitlines())}
    assert (plan_lines["Decisions"], plan_lines["Model"], plan_lines["Endpoint"]) == (
        "2",
        "other",
        endpoint.url.split("/")[2],
    )
    assert "Repeat the command with --yes" in out
    assert not endpoint.requests


def test_a_dry_run_is_no_refusal(ada, endpoint):
    create_decisions(2)
    status, out, _error = run_verb("--model", "other", "--dry-run", "--json")
    assert (status, orjson.loads(out)["plan"]["decisions"]) == (0, 2)
    assert not endpoint.requests


def test_with_yes_it_is_sent(ada, endpoint, tmp_path):
    create_decisions(4)
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Decide well.\n")
    status, out, error = run_verb("--model", "other", "--prompt-file", str(prompt), "--yes")
    assert (status, error) == (0, "")
    assert out.splitlines() == [
        "4 decisions replayed. 2 are different.",
        "Agreement: 50%",
        "  NO_WRITE → UPDATE_USER  2",
    ]
    assert endpoint.requests[0].question["messages"][0]["content"] == "Decide well."
    assert replays().get().started_by == "command line"


def test_quiet_shows_no_progress(ada, endpoint, capsys):
    create_decisions(2)
    assert run_verb("--model", "first", "--yes")[0] == 0
    assert capsys.readouterr().err
    assert run_verb("--model", "other", "--yes", "--quiet")[0] == 0
    assert not capsys.readouterr().err


def test_what_was_not_replayed_is_in_the_status(ada, endpoint):
    create_decisions(2)
    endpoint.then(says("no decision"), decides())
    status, out, _error = run_verb("--model", "other", "--yes", "--json")
    assert (status, orjson.loads(out)["replay"]["malformed"]) == (4, 1)
    endpoint.then(fails(401))
    status, _out, error = run_verb("--model", "other", "--yes")
    assert (status, "refused the key" in error) == (3, True)


def test_only_approved(ada, endpoint):
    create_decisions(2)
    status, _out, error = run_verb("--model", "other", "--approved", "--yes")
    assert (status, "None of these decisions can be replayed" in error) == (3, True)
    assert not rows().exists()


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ((), 2, "--model"),
        (("--model", "x", "--limit", "0"), 2, "--limit must be 1 to 5,000."),
        (("--model", "x", "--prompt-file", "/nowhere"), 2, "cannot be read"),
        (("--model", "x", "--since", "yesterday"), 2, "is not an ISO 8601 time"),
        (("--model", "x", "--yes", "--dry-run"), 2, "not allowed with"),
    ],
)
def test_what_cannot_be_meant_is_refused(ada, endpoint, words, status, sentence):
    exit_status, _out, error = run_verb(*words)
    assert (exit_status, sentence in error) == (status, True)
