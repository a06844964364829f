"""Evidence that keeps an old session: every table that names sessions is listed here."""

import pytest
from django.apps import apps

from agents.models import Agent
from artifacts.handles import from_sha256
from artifacts.models import Artifact
from datasets import services as datasets
from datasets.models import DatasetSample, FindingVerdict
from ledger.transcripts import removal, session_rows
from openclaw_web.errors import Refused
from operations.retention import session_selection
from tests import faults
from tests.collecting import collect_runs
from tests.factories import CronJobFactory, SampleFactory, SessionFactory, SnapshotFactory
from tests.homes import assistant, user
from tests.operations.retention.old_sessions import count_kept

pytestmark = pytest.mark.django_db
DB, BEFORE = "agent_ada", 10_000
HANDLE = from_sha256("ab" * 32)
# Tables that name sessions or turns: removed with a session, keeping it, or never keeping it.
KEEPING = {"dataset_samples"}
NOT_KEEPING = {
    "memory_gate_decisions",  # complete without their session, by their windows: see test_retention_decisions.py
    *("gate_calls", "gate_session_sums"),  # costs and sums
    "guardian_runs",  # likewise
    "write_guardian_audit",  # complete without its session, by its versions and fact: see test_retention_writes.py
    "removed_sessions",  # lists removed sessions
    "remediations",  # what was taken back stays so
    "collector_sessions",  # lists what the store must contain, and removed sessions
    *("collector_sources", "collector_skipped"),  # which files were read or skipped, and their agents
    *("provenance_records", "memory_standings"),  # OpenClaw's records of memory files, and rows derived from them
    "episodic_events",  # have their texts; the artifacts that they mention keep their sessions
    *("findings", "finding_scans"),  # places in texts: the next scan removes those of a session that is gone
    *("turn_signals", "signal_positions"),  # numbers: the next run removes those of a session that is gone
    *("dataset_members", "dataset_sides"),  # what a release had, for good
    "turn_outcomes",  # numbers about turns, which the next run about all turns removes
    "newest_sessions",  # the newest of each agent: derived rows that can be computed again
    "cron_run_logs",  # reports of OpenClaw's scheduler, which link to a session while it exists
}


def store_artifact(session, kind="tool_output"):
    sizes = {"bytes": 1, "stored_bytes": 1, "chars": 1, "lines": 1}
    columns = {"handle": HANDLE, "kind": kind, "content_type": "text/plain", "created_at": 1, **sizes}
    return Artifact.objects.using(DB).create(id=session.id, session_id=session.id, **columns)


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
    store_artifact(old)
    assert count_kept(BEFORE) == {} and session_selection.find_evidence("ada", DB, old.id) == ""


def test_a_checkpoint_keeps_its_session(old):
    store_artifact(old, kind="checkpoint")
    assert (
        count_kept(BEFORE) == {"checkpoints": 1} and session_selection.find_evidence("ada", DB, old.id) == "checkpoints"
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda other: SampleFactory(agent_id="ada", session_id=other.id, content=f'{{"text": "see {HANDLE}"}}'),
        lambda other: SnapshotFactory(db=DB, content=f"The plan is in {HANDLE}"),
        lambda other: CronJobFactory(agent_id="ada", prompt=f"Look into {HANDLE}", job_json="{}"),
        lambda other: FindingVerdict.objects.create(
            id="1", scope="rule", verdict="dismissed", rule="iban", notes=HANDLE, decided_by="ann", decided_at=1
        ),
    ],
)
def test_an_output_that_is_mentioned_keeps_its_session(old, make):
    store_artifact(old)
    make(SessionFactory(db=DB, last_activity_at=BEFORE + 1))
    assert count_kept(BEFORE) == {"mentions": 1}


def test_samples_of_another_agent_keep_nothing(old):
    SampleFactory(agent_id="bob", session_id=old.id)
    assert count_kept(BEFORE) == {}


def test_a_session_that_goes_while_a_sample_is_made_of_it(home):
    """A sample checks its session again, under the lock that removals take."""
    script = home.transcript(user("Is it done?"), assistant("Yes."))
    collect_runs.run(home)
    agent, late = Agent.objects.get(), 2**52

    def it_goes():
        removal.remove_session(agent.db, script.session, before=late, needed_by=lambda _: "", why="retention")

    seen = []

    def the_lock_is_next(sql):  # true at the next transaction of the agent's file after contexts were stored
        seen.append(sql)
        return sql.startswith(("BEGIN", "SAVEPOINT")) and any("conversation_contexts" in earlier for earlier in seen)

    with faults.before_statement(agent.db, the_lock_is_next, it_goes):
        made = datasets.make_samples(agent, script.session, [1], by="mei")
    assert made.made == [] and made.skipped and not DatasetSample.objects.exists()


def test_an_agent_that_is_not_there():
    with pytest.raises(Refused):
        session_selection.find_databases("nobody")
