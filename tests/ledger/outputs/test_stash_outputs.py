"""Big outputs that are in a store already become artifacts: the job, its command and its button."""

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from artifacts.models import Artifact
from jobs.models import JobRun
from jobs.progress import Progress
from ledger.models import ConversationTurn, Session, SessionTool, ToolDay, TranscriptEvent
from ledger.outputs import job as stash_outputs
from ledger.transcripts.trimming import full_record, stashed
from people.configuration import keys as configuration
from tests.collecting.collecting import MAIN, run
from tests.factories import UserFactory
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
BACKEND = "django.contrib.auth.backends.ModelBackend"
LONG = "".join(f"line {number}: all is well\n" for number in range(600))
CALL = ("c1", "exec", {"command": "make"})


@pytest.fixture
def old(home):
    """A home that was collected before outputs became artifacts; the setting is on again."""
    configuration.put("collector.stashOutputs", False)
    record = result("c3")
    record["message"] |= {"content": [{"type": "text", "text": "short"}], "details": {"log": "z" * 9_000}}
    home.transcript(user("One"), assistant("", CALL), result("c1", LONG, details={"exitCode": 2, "aggregated": LONG}))
    script = home.transcript(user("Two"), assistant("", CALL), result("c2", "small"), record)
    script.add(user("Three"), assistant("", CALL), result("c4", "[" + "1," * 1_500 + "1]", details={"x": "z" * 9_000}))
    run(home)
    configuration.put("collector.stashOutputs", True)
    return home


def results():
    found = TranscriptEvent.objects.using(MAIN).filter(kind="tool_result").order_by("session_id", "seq")
    return {(event.session_id, event.seq): event for event in found}


def wholes():
    return {place: full_record(event) for place, event in results().items()}


def receipt(capsys, **options):
    call_command("stash_outputs", json=True, quiet=True, **options)
    return orjson.loads(capsys.readouterr().out)


def test_it_works(old, capsys):
    before = wholes()
    said = receipt(capsys)
    assert (said["schema"], said["records"], said["outputs"], said["unreadable"]) == (stash_outputs.SCHEMA, 2, 2, 0)
    assert said["agents"]["main"]["sessions"] == 2
    assert wholes() == before
    uses = Artifact.objects.using(MAIN)
    assert uses.count() == 2
    use = uses.get(tool_call_id="c1")
    assert use.turn_id == f"{use.session_id}:r1"
    assert (use.record_id, use.tool) == ("r3", "exec")
    assert "exit code 2" in use.summary
    event = next(event for event in results().values() if event.session_id == use.session_id)
    assert orjson.loads(event.trim_json)["aggregated"] == len(LONG)
    assert event.full_zstd is None


def test_it_makes_what_collecting_would_have_made(old, capsys):
    receipt(capsys)
    moved = everything()
    Artifact.objects.using(MAIN).all().delete()
    Session.objects.using(MAIN).all().delete()
    run(old, again=True)
    assert everything() == moved


def everything():
    """What the store says of results, of artifacts and of tools."""
    uses = Artifact.objects.using(MAIN).values_list("id", "turn_id", "created_at", "stored_bytes", "summary")
    sums = SessionTool.objects.using(MAIN).values_list("session_id", "date", "tool", "stashed_count", "stashed_chars")
    records = {place: (event.event_json, event.trim_json) for place, event in results().items()}
    return records, set(uses), set(sums)


def test_a_second_run_moves_nothing(old, capsys):
    receipt(capsys)
    before = {place: event.trim_json for place, event in results().items()}
    said = receipt(capsys)
    assert (said["records"], said["outputs"]) == (0, 0)
    assert said["message"] == "No record contains an output that should be an artifact."
    assert {place: event.trim_json for place, event in results().items()} == before
    assert Artifact.objects.using(MAIN).count() == 2


def test_sessions_without_sums_by_tool_are_counted_once(old, capsys, client):
    receipt(capsys)
    old.transcript(user("Nothing is called here"))
    run(old)
    before = everything_counted()
    without_sums()
    client.force_login(UserFactory(role="viewer"), backend=BACKEND)
    page = reverse("ledger:savings", args=["main"])
    assert "2 sessions, imported by an older version, are not counted yet" in client.get(page).text
    said = receipt(capsys)
    assert (said["counted"], said["outputs"]) == (2, 0)
    assert said["message"].endswith("2 sessions were counted.")
    assert everything_counted() == before
    assert "not counted yet" not in client.get(page).text
    assert receipt(capsys)["counted"] == 0


def test_a_session_without_sums_by_tool_is_counted_when_it_grows(home):
    script = home.transcript(user("One"), assistant("", CALL), result("c1", LONG))
    run(home)
    without_sums()
    script.add(user("Two"), assistant("", CALL), result("c2", "small"))
    run(home)
    grown = everything_counted()
    Session.objects.using(MAIN).all().delete()
    ToolDay.objects.using(MAIN).all().delete()
    run(home, again=True)
    assert grown == everything_counted()
    assert ToolDay.objects.using(MAIN).get(tool="exec").call_count == 2


def without_sums():
    """What a version before sums by tool left."""
    SessionTool.objects.using(MAIN).all().delete()
    ToolDay.objects.using(MAIN).all().delete()
    ConversationTurn.objects.using(MAIN).update(prompt_tokens=None)


def everything_counted():
    """All sums by tool, and the prompts of turns."""
    prompts = ConversationTurn.objects.using(MAIN).values_list("id", "prompt_tokens")
    return [set(rows.values_list()) for rows in (SessionTool.objects.using(MAIN), ToolDay.objects.using(MAIN))] + [
        set(prompts)
    ]


def test_what_is_collected_afterwards_is_collected_as_ever(old, capsys):
    receipt(capsys)
    old.transcript(user("Four"), assistant("", CALL), result("c1", LONG))
    run(old)
    assert sum(len(stashed(event.trim_json)) for event in results().values()) == 3


def test_a_damaged_record_is_left_and_counted(old, capsys):
    broken = TranscriptEvent.objects.using(MAIN).filter(trim_json__contains="aggregated")
    broken.update(full_zstd=b"no zstd")
    said = receipt(capsys)
    assert (said["records"], said["unreadable"]) == (1, 1)
    assert bytes(broken.get().full_zstd) == b"no zstd"


def test_a_store_that_cannot_be_written_is_refused_with_a_sentence(old, real_files):
    (real_files / "artifacts").write_text("a file where a folder should be")
    before = wholes()
    with pytest.raises(CommandError, match="cannot be written") as refused:
        call_command("stash_outputs", quiet=True)
    assert refused.value.returncode == 3
    assert wholes() == before


def test_an_agent_that_is_not_there_is_refused(old):
    with pytest.raises(CommandError, match="There is no agent nobody"):
        call_command("stash_outputs", agent="nobody", quiet=True)
    call_command("stash_outputs", agent="main", quiet=True)
    assert Artifact.objects.using(MAIN).count() == 2


def test_progress_counts_sessions(old):
    heard = []
    stash_outputs.run({}, Progress(lambda *state: heard.append(state)))
    assert heard == [(1, 2, "Storing outputs of main"), (2, 2, "Storing outputs of main")]


def test_it_is_started_by_a_button_on_the_page_of_jobs(as_admin):
    address = reverse("ledger:stash_outputs_start")
    assert address in as_admin.get(reverse("jobs:job_list")).text
    answer = as_admin.post(address)
    job = JobRun.objects.get()
    assert (answer.url, job.kind, job.params_json) == (job.get_absolute_url(), "stash_outputs", "{}")
    assert "Store large outputs" in as_admin.get(job.get_absolute_url()).text


def test_the_page_of_the_job_says_what_was_moved(old, as_admin, capsys):
    receipt(capsys)
    page = as_admin.get(JobRun.objects.get().get_absolute_url()).text
    assert "2 outputs of 2 records were stored as artifacts" in page
    assert "main: 2 outputs of 2 records in 2 sessions" in page


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("labeller", 403), ("operator", 302), ("admin", 302)])
def test_operators_start_it(client, role, status):
    client.force_login(UserFactory(role=role), backend=BACKEND)
    assert client.post(reverse("ledger:stash_outputs_start")).status_code == status
    shown = "stash-outputs" in client.get(reverse("jobs:job_list")).text
    assert shown is (status == 302)
