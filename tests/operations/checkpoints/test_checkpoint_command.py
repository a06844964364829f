"""`openclaw-web checkpoint`: what it prints, and how it ends."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command

from ledger.models import Session
from people.models.bookkeeping import AuditEntry
from tests.homes import user
from tests.ledger.checkpoints.checkpoints import compaction, worked
from tests.ledger.outputs.stashing import blob
from tests.ledger.talks import tell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


def run(*words):
    """`(exit status, what it printed, the sentence of a refusal)`."""
    out = io.StringIO()
    try:
        call_command("checkpoint", *words, "--agent", "ada", stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def receipt(*words):
    status, out, sentence = run(*words, "--json")
    assert status == 0, sentence
    found = orjson.loads(out)
    assert (found["ok"], found["schema"]) == (True, "openclaw-web.checkpoint.v1")
    return found["checkpoints"]


def test_it_works():
    tell(*worked())
    [made] = receipt("build", "--session", "s1")
    assert (made["session_id"], made["compaction_id"], made["is_new"]) == ("s1", "r14", True)
    [shown] = receipt("show", made["handle"])
    entries = AuditEntry.objects.order_by("at", "id").values_list("actor", "action", "object_id")
    assert list(entries) == [("command line", action, made["handle"]) for action in ("checkpoint_built", "read")]
    assert shown["pack"]["compaction"]["record_id"] == "r14"
    assert {**shown, "is_new": True} == {**made, "pack": shown["pack"]}
    assert run("show", "--session", "s1", "--bundle")[1] == shown["pack"]["bundle"]["text"] + "\n"
    assert made["handle"] in run("show", "--session", "s1")[1]


def test_all_compactions():
    tell(user("1"), compaction("r1"), user("2"), compaction("r3"))
    made = receipt("build", "--session", "s1", "--compaction", "all")
    assert [each["compaction_id"] for each in made] == ["r2", "r4"]
    assert receipt("show", "--session", "s1")[0]["compaction_id"] == "r4"
    assert receipt("build", "--session", "s1", "--compaction", "r2")[0]["is_new"] is False


def test_the_budget_and_a_session_by_its_key():
    tell(*worked())
    Session.objects.using("agent_ada").update(session_key="agent:main:main")
    receipt("build", "--session", "agent:main:main", "--budget-chars", "1200")
    text = run("show", "--session", "s1", "--bundle")[1].rstrip("\n")
    assert len(text) <= 1200 and "Left out:" in text


@pytest.mark.parametrize(
    ("words", "ends_with", "sentence"),
    [
        (["build"], 2, "Name the session"),
        (["build", "--session", "nothing"], 3, "no such session"),
        (["build", "--session", "s2"], 3, "no compaction"),
        (["build", "--session", "s1", "--compaction", "r1"], 3, "no compaction with that id"),
        (["build", "--session", "s1", "--budget-chars", "10"], 3, "1,200 to 20,000"),
        (["build", "--session", "s1", "--bundle"], 2, "build has no --bundle"),
        (["show"], 2, "Name the checkpoint"),
        (["show", "x", "--session", "s1"], 2, "Name the checkpoint"),
        (["show", "x"], 2, "not a handle"),
        (["show", "ocm_artifact:v1:sha256:" + "0" * 64], 3, "no artifact"),
        (["show", "--session", "s1"], 3, "no checkpoint yet"),
        (["show", "--session", "s1", "--compaction", "all"], 2, "show has no --compaction"),
    ],
)
def test_what_is_refused(words, ends_with, sentence):
    tell(*worked())
    tell(user("1"), session_id="s2")
    status, out, said = run(*words)
    assert (status, out) == (ends_with, "") and sentence in said


def test_the_command_that_reads_it_names_the_agent():
    tell(*worked())
    [made] = receipt("build", "--session", "s1")
    assert made["fetch"] == f"openclaw-web artifact fetch {made['handle']} --agent ada"
    out = io.StringIO()
    call_command(*made["fetch"].split()[1:], stdout=out)
    assert out.getvalue()


def test_an_agent_that_is_not_there():
    with pytest.raises(CommandError, match="no agent nobody"):
        call_command("checkpoint", "build", "--session", "s1", "--agent", "nobody")


def test_a_damaged_one_is_refused():
    tell(*worked())
    [made] = receipt("build", "--session", "s1")
    blob(made["handle"]).write_bytes(b"x")
    status, _out, said = run("show", made["handle"])
    assert status == 3 and "damaged" in said
