"""`openclaw-web checkpoint`: its output and its exit statuses."""

import io

import orjson
import pytest
from django.core.management import CommandError, call_command

from ledger.models import Session
from people.models.bookkeeping import AuditEntry
from tests.homes import user
from tests.ledger.checkpoints.checkpoint_packs import compaction, make_records
from tests.ledger.outputs.stored_outputs import find_blob_file
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


def run(*words):
    """Return (exit status, output, the sentence of a refusal)."""
    out = io.StringIO()
    try:
        call_command("checkpoint", *words, "--agent", "ada", stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def run_checkpoint(*words):
    status, out, sentence = run(*words, "--json")
    assert status == 0, sentence
    answer = orjson.loads(out)
    assert (answer["ok"], answer["schema"]) == (True, "openclaw-web.checkpoint.v1")
    return answer["checkpoints"]


def test_it_works():
    store_session(*make_records())
    [made] = run_checkpoint("build", "--session", "s1")
    assert (made["session_id"], made["compaction_id"], made["is_new"]) == ("s1", "r14", True)
    [answer] = run_checkpoint("show", made["handle"])
    entries = AuditEntry.objects.order_by("at", "id").values_list("actor", "action", "object_id")
    assert list(entries) == [("command line", action, made["handle"]) for action in ("checkpoint_built", "read")]
    assert answer["pack"]["compaction"]["record_id"] == "r14"
    assert {**answer, "is_new": True} == {**made, "pack": answer["pack"]}
    assert run("show", "--session", "s1", "--bundle")[1] == answer["pack"]["bundle"]["text"] + "\n"
    assert made["handle"] in run("show", "--session", "s1")[1]


def test_all_compactions():
    store_session(user("1"), compaction("r1"), user("2"), compaction("r3"))
    made = run_checkpoint("build", "--session", "s1", "--compaction", "all")
    assert [each["compaction_id"] for each in made] == ["r2", "r4"]
    assert run_checkpoint("show", "--session", "s1")[0]["compaction_id"] == "r4"
    assert run_checkpoint("build", "--session", "s1", "--compaction", "r2")[0]["is_new"] is False


def test_the_budget_and_a_session_by_its_key():
    store_session(*make_records())
    Session.objects.using("agent_ada").update(session_key="agent:main:main")
    run_checkpoint("build", "--session", "agent:main:main", "--budget-chars", "1200")
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
    store_session(*make_records())
    store_session(user("1"), session_id="s2")
    status, out, refusal = run(*words)
    assert (status, out) == (ends_with, "") and sentence in refusal


def test_the_command_that_reads_it_names_the_agent():
    store_session(*make_records())
    [made] = run_checkpoint("build", "--session", "s1")
    assert made["fetch"] == f"openclaw-web artifact fetch {made['handle']} --agent ada"
    out = io.StringIO()
    call_command(*made["fetch"].split()[1:], stdout=out)
    assert out.getvalue()


def test_an_agent_that_is_not_there():
    with pytest.raises(CommandError, match="no agent nobody"):
        call_command("checkpoint", "build", "--session", "s1", "--agent", "nobody")


def test_a_damaged_one_is_refused():
    store_session(*make_records())
    [made] = run_checkpoint("build", "--session", "s1")
    find_blob_file(made["handle"]).write_bytes(b"x")
    status, _out, refusal = run("show", made["handle"])
    assert status == 3 and "damaged" in refusal
