"""`openclaw-web retention` and its page: old sessions are counted, then removed for good.

Sessions that evidence names stay.
"""

import time

import orjson
import pytest

from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.factories import SampleFactory, SessionFactory
from tests.operations.backups.backup_homes import read_tables, run, run_python
from tests.operations.retention import old_sessions
from tests.operations.retention.test_retention_api import run_queued_job

URL = "/operations/retention/"
pytestmark = pytest.mark.django_db
MAIN = "agents/main/agent/openclaw-agent.sqlite"
SAMPLE = """
from agents.models import Agent
from datasets import services
from ledger.models import ConversationTurn
agent = Agent.objects.get(agent_id="main")
turn = ConversationTurn.objects.using(agent.db).active().filter(agent_message_id__isnull=False).order_by("id").{which}()
services.make_samples(agent, turn.session_id, [turn.turn_number], by="x")
"""
DECISION = """
from agents.models import Agent
from gate.recording.api_import import record_reports
from gate.schemas import DecisionIn
from ledger.models import ConversationTurn, Session
session = Session.objects.using("agent_main").order_by("id").last()
turns = ConversationTurn.objects.using("agent_main").filter(session=session).order_by("turn_number")
record_reports(Agent.objects.get(agent_id="main"), [DecisionIn(
    id=f"d{turn.turn_number}", turn_id=turn.id, session_id=session.id, decision="NO_WRITE", reason="Small talk.",
    llm_model="m", created_at=turn.created_at) for turn in turns])
"""


def run_retention(home, *words, status=0):
    done, out, err = run(home, "retention", *words, "--json", "--quiet")
    assert done == status, err + out
    return orjson.loads(out)


@pytest.fixture
def home(tmp_path):
    old_sessions.fill(tmp_path / "own", sessions=4)
    return tmp_path / "own"


def test_it_works(home):
    before = read_tables(home)
    answer = run_retention(home, "--days", "30")
    assert (answer["sessions"], answer["dry_run"]) == (4, True)
    assert read_tables(home) == before
    assert run_retention(home, "--days", "36500")["sessions"] == 0
    answer = run_retention(home, "--days", "30", "--remove", "--agent", "research")
    assert answer["sessions"] == 2 and len(read_tables(home)[MAIN, "sessions"]) == 2
    answer = run_retention(home, "--days", "30", "--remove")
    assert (answer["sessions"], answer["failed"]) == (2, [])
    after = read_tables(home)
    tables_with_rows = {table for (file, table), rows in after.items() if file == MAIN and rows}
    gone = {"sessions", "transcript_events", "conversation_turns", "artifacts"}
    assert not tables_with_rows & (gone | {"prompt_reports", "rejected_records", "transcript_snapshots"})
    assert old_sessions.select_day_sums(after) == old_sessions.select_day_sums(before)
    assert run(home, "collect")[0] in (0, 4)
    assert not read_tables(home)[MAIN, "sessions"]


def test_sessions_that_evidence_names_stay_whole(home):
    run_python(home, SAMPLE.format(which="first"))
    before = read_tables(home)
    answer = run_retention(home, "--days", "30", "--remove")
    assert answer["sessions"] == 3 and sum(answer["kept"].values()) == 1
    after = read_tables(home)
    session_row = next(row for row in before[MAIN, "sessions"] if row in after[MAIN, "sessions"])
    session = session_row.split("'")[1]
    for table in ("sessions", "transcript_events", "conversation_turns", "artifacts"):
        assert [row for row in before[MAIN, table] if session in row] == after[MAIN, table] != [], table
    for key in (("state/openclaw.sqlite", "dataset_samples"), (MAIN, "conversation_contexts")):
        assert after[key] == before[key]
    assert run_retention(home, "--days", "30", "--remove")["sessions"] == 0


def test_decisions_stay_when_their_session_goes(home):
    run_python(home, DECISION)
    before = read_tables(home)
    answer = run_retention(home, "--days", "30", "--remove")
    assert answer["sessions"] == 4 and answer["kept"] == {}
    after = read_tables(home)
    assert not after[MAIN, "conversation_turns"] and not after[MAIN, "conversation_contexts"]
    for table in ("memory_gate_decisions", "gate_windows", "gate_receipts", "gate_session_sums", "memory_gate_stats"):
        assert after[MAIN, table] == before[MAIN, table] != [], table
    status, out, err = run(home, "doctor", "--deep")
    assert status == 0 and "memory_gate" not in out, out + err


def test_archive_means_the_same_moment_as_retention(home):
    today = time.time_ns() // 1_000_000 // 86_400_000 * 86_400_000
    # Older than 24 hours, but of yesterday: days are counted from midnight.
    moment = f"Session.objects.using('agent_main').update(last_activity_at={today - 86_399_999})"
    run_python(home, f"from ledger.models import Session\n{moment}")
    answer = run_retention(home, "--days", "1", "--agent", "main")
    done, out, err = run(home, "archive", "--older-than", "24h", "--agent", "main", "--dry-run", "--json", "--quiet")
    assert done == 0, err
    archived = orjson.loads(out)
    assert (answer["before"], answer["sessions"]) == (archived["before"], archived["sessions"])
    assert answer["sessions"] == 0


def test_wrong_use(home):
    for words, status, sentence in (
        ((), 3, "with the setting retentionDays"),
        (("--days", "0"), 2, "--days must be"),
        (("--days", "9", "--dry-run", "--remove"), 2, "not allowed with"),
        (("--days", "9", "--agent", "nobody"), 3, "There is no agent"),
    ):
        done, _out, err = run(home, "retention", *words)
        assert done == status and sentence in err and "Traceback" not in err, (words, err)
    assert run(home, "settings", "set", "retentionDays", "30")[0] == 0
    assert run_retention(home)["days"] == 30


def test_the_page(as_admin, old):
    page = as_admin.get(URL).text
    assert "No runs yet" in page and "Remove them" not in page
    answer = as_admin.post(f"{URL}count/", {"days": "400"})
    job = run_queued_job()
    assert job.state == JobRun.State.FINISHED, job.message
    assert "can be removed" in as_admin.get(answer["Location"]).text
    page = as_admin.get(URL).text
    assert "1 session last active before" in page and 'name="days" value="400"' in page
    as_admin.post(f"{URL}archive/", {"days": "400"})
    assert run_queued_job().state == JobRun.State.FINISHED
    page = as_admin.get(URL).text
    assert "archived and removed" in page and "Remove them" not in page
    assert not type(old).objects.using("agent_ada").exists()
    actions = set(AuditEntry.objects.values_list("actor", "action"))
    assert {("root", "retention_started"), ("root", "archive_started"), ("root", "sessions_archived")} <= actions


def test_sessions_of_one_moment_are_all_counted(as_admin, old):
    values = {field.attname: getattr(old, field.attname) for field in old._meta.concrete_fields}
    same = [type(old)(**values | {"id": f"same-{number}", "session_key": None}) for number in range(600)]
    type(old).objects.using("agent_ada").bulk_create(same)
    as_admin.post(f"{URL}count/", {"days": "400"})
    assert run_queued_job().state == JobRun.State.FINISHED
    assert "601 sessions last active before" in as_admin.get(URL).text


def test_removing_by_the_page(as_admin, old):
    SampleFactory(agent_id="ada", session_id=SessionFactory(db="agent_ada", last_activity_at=5_000).id)
    as_admin.post(f"{URL}remove/", {"days": "400"})
    job = run_queued_job()
    assert "1 session (" in job.message and "was removed, 1 is kept." in job.message and "can be removed" in job.log
    assert type(old).objects.using("agent_ada").count() == 1


@pytest.mark.parametrize("days", ["", "0", "-1", "soon", "9" * 30, "1\x00"])
def test_days_that_are_none_are_said_beside_their_field(as_admin, old, days):
    for name in ("count", "remove", "archive"):
        answer = as_admin.post(f"{URL}{name}/", {"days": days})
        assert answer.status_code == 422 and "field--bad" in answer.text
    assert not JobRun.objects.exists()
