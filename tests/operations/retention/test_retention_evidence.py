"""What keeps an old session: every table that can name one is in one of two lists."""

import pytest
from django.apps import apps

from agents.models import Agent
from artifacts.handles import from_sha256
from artifacts.models import Artifact
from datasets import services as datasets
from datasets.models import DatasetSample
from ledger.transcripts import removal, session_rows
from openclaw_web.errors import Refused
from operations.retention import session_selection
from tests import faults
from tests.collecting import collect_runs
from tests.factories import CronJobFactory, SampleFactory, SessionFactory, SnapshotFactory
from tests.homes import assistant, user
from tests.operations.retention.old_sessions import kept

pytestmark = pytest.mark.django_db
DB, BEFORE = "agent_ada", 10_000
HANDLE = from_sha256("ab" * 32)
# Tables that name sessions or turns: those that go with a session, those that keep it, and those that never do.
KEEPING = {"dataset_samples"}
NOT_KEEPING = {
    "memory_gate_decisions",  # with their windows, they do without it: see test_retention_decisions.py
    *("gate_calls", "gate_session_sums"),  # what they cost, and what they add up to
    "guardian_runs",  # likewise
    "write_guardian_audit",  # with its versions and its fact, it does without it: see test_retention_writes.py
    "removed_sessions",  # says that one was removed
    "collector_sessions",  # says what the store has to hold, and that one was removed
    *("collector_sources", "collector_skipped"),  # which files were read, and which were not, and whose they are
    *("provenance_records", "memory_standings"),  # OpenClaw's records of memory files; derived rows made of them
    "newest_sessions",  # the newest of each agent, derived rows that are made again
    "cron_run_logs",  # what OpenClaw's scheduler says; derived rows that link to a session while it is here
}


def use(session, kind="tool_output"):
    sizes = {"bytes": 1, "stored_bytes": 1, "chars": 1, "lines": 1}
    told = {"handle": HANDLE, "kind": kind, "content_type": "text/plain", "created_at": 1, **sizes}
    return Artifact.objects.using(DB).create(id=session.id, session_id=session.id, **told)


@pytest.fixture
def old(ada):
    return SessionFactory(db=DB, last_activity_at=1_000)


def test_every_table_that_names_sessions_is_known():
    naming = {
        model._meta.db_table
        for model in apps.get_models()
        if {field.column for field in model._meta.concrete_fields} & {"session_id", "turn_id"}
    }
    assert naming - set(session_rows.TABLES_BY_NAME) == KEEPING | NOT_KEEPING


def test_a_session_that_nothing_names_may_go(old):
    use(old)
    assert kept(BEFORE) == {} and session_selection.find_evidence("ada", DB, old.id) == ""


def test_a_checkpoint_keeps_its_session(old):
    use(old, kind="checkpoint")
    assert kept(BEFORE) == {"checkpoints": 1} and session_selection.find_evidence("ada", DB, old.id) == "checkpoints"


@pytest.mark.parametrize(
    "make",
    [
        lambda other: SampleFactory(agent_id="ada", session_id=other.id, content=f'{{"text": "see {HANDLE}"}}'),
        lambda other: SnapshotFactory(db=DB, content=f"The plan is in {HANDLE}"),
        lambda other: CronJobFactory(agent_id="ada", prompt=f"Look into {HANDLE}", job_json="{}"),
    ],
)
def test_an_output_that_is_mentioned_keeps_its_session(old, make):
    use(old)
    make(SessionFactory(db=DB, last_activity_at=BEFORE + 1))
    assert kept(BEFORE) == {"mentions": 1}


def test_samples_of_another_agent_keep_nothing(old):
    SampleFactory(agent_id="bob", session_id=old.id)
    assert kept(BEFORE) == {}


def test_a_session_that_goes_while_a_sample_is_made_of_it(home):
    """Before the sample is written it is looked again, under the lock under which sessions are removed."""
    script = home.transcript(user("Is it done?"), assistant("Yes."))
    collect_runs.run(home)
    agent, late = Agent.objects.get(), 2**52

    def it_goes():
        removal.remove_session(agent.db, script.session, before=late, needed_by=lambda _: "", why="retention")

    seen = []

    def the_lock_is_next(sql):  # contexts are stored, and the next transaction of the agent's file is about to begin
        seen.append(sql)
        return sql.startswith(("BEGIN", "SAVEPOINT")) and any("conversation_contexts" in one for one in seen)

    with faults.before_statement(agent.db, the_lock_is_next, it_goes):
        made = datasets.make_samples(agent, script.session, [1], by="mei")
    assert made.made == [] and made.skipped and not DatasetSample.objects.exists()


def test_an_agent_that_is_not_there():
    with pytest.raises(Refused):
        session_selection.find_databases("nobody")
