"""The global database and agents' databases: routing, creation, migration and refusals."""

import gc
import os
import shutil
import sqlite3
import stat
import threading
import warnings
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from agents import databases, services
from agents.checks import check_column_kinds, check_column_places, check_relations
from agents.models import Agent, AgentDatabase
from agents.routers import NoAgentChosen
from gate.models import MemoryGateDecision
from ledger.models import ConversationTurn, Session
from openclaw_web.errors import Refused
from tests.factories import SessionFactory, TurnFactory

pytestmark = pytest.mark.django_db
make_template = databases._template  # tests usually get a ready one instead
GATE_TABLES = (
    *("gate_replay_decisions", "gate_replays", "gate_calls", "gate_hours", "gate_prompts", "gate_receipts"),
    *("gate_verdict_days", "gate_verdicts_state", "regression_sets"),
    *("gate_session_sums", "gate_windows", "memory_gate_decisions", "memory_gate_stats", "gate_days"),
    "gate_stale_sums",
)
GUARDIAN_TABLES = (
    *("behavior_corrections", "guardian_consolidations", "guardian_receipts", "guardian_statuses"),
    *("guardian_handovers", "guardian_runs", "guardian_steps", "guardian_tests"),
    *("provenance_records", "rollback_intents", "rollbacks", "write_guardian_audit"),
)


def test_rows_stay_in_their_agents_file():
    SessionFactory(db="agent_bob")
    assert Session.objects.using("agent_bob").count() == 1
    assert Session.objects.using("agent_ada").count() == 0


def test_a_query_must_say_whose_file():
    with pytest.raises(NoAgentChosen, match=r"Session\.objects\.using"):
        Session.objects.count()
    with pytest.raises(NoAgentChosen):
        Session(id="x", created_at=1, last_activity_at=1).save()


def test_relations_follow_the_row(django_assert_num_queries):
    turn = TurnFactory(db="agent_bob")
    with django_assert_num_queries(0), django_assert_num_queries(1, using="agent_bob"):
        assert list(turn.session.turns.all()) == [turn]


def test_rows_of_two_files_cannot_be_joined():
    turn = TurnFactory(db="agent_bob")
    with pytest.raises(ValueError, match="router prevents"):
        turn.session = SessionFactory(db="agent_ada")
    with pytest.raises(ValueError, match="Subqueries"):
        list(ConversationTurn.objects.using("agent_ada").filter(session__in=Session.objects.using("agent_bob")))


def test_a_new_agent_has_a_private_file_and_is_in_the_registry(real_files):
    agent = services.register("zoe")
    file = databases.get_path("zoe")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    row = AgentDatabase.objects.get()
    assert (row.agent_id, row.path) == ("zoe", "agents/zoe/agent/openclaw-agent.sqlite")
    assert services.register("zoe") == agent
    with connections[agent.db].cursor() as cursor:
        names = ("journal_mode", "auto_vacuum", "page_size")
        pragmas = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    assert pragmas == {"journal_mode": "wal", "auto_vacuum": 2, "page_size": databases.PAGE_BYTES}


def test_opening_a_file_waits_for_no_writer_and_changes_no_byte(real_files):
    agent, file = services.register("zoe"), databases.get_path("zoe")
    connections[agent.db].close()
    before = file.read_bytes()
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert Session.objects.using(agent.db).count() == 0
    connections[agent.db].close()
    assert file.read_bytes() == before


def test_of_many_makers_of_one_agent_one_wins(real_files):
    outcomes = []

    def run():
        try:
            outcomes.append(databases.create("zoe"))
        except databases.AgentExists:
            outcomes.append("refused")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(outcomes) == ["agent_zoe"] + ["refused"] * 15
    assert [file.name for file in databases.get_path("zoe").parent.iterdir() if "-" not in file.suffix] == [
        "openclaw-agent.sqlite"
    ]


def count_open_files(agent_id):
    """Count how often this process has an agent's file open."""
    descriptors = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    file = str(databases.get_path(agent_id))
    return sum(1 for name in descriptors if name.is_symlink() and os.readlink(name).removesuffix(" (deleted)") == file)


def test_a_thread_keeps_the_file_of_its_last_agent_open_and_no_other(real_files, as_admin):
    for number in range(20):
        SessionFactory(db=services.register(f"agent{number}").db, title=f"Talk {number}")
        connections[f"agent_agent{number}"].close()
    for number in range(20):
        assert f"Talk {number}" in as_admin.get(f"/agents/agent{number}/sessions/").text
    assert [count_open_files(f"agent{number}") > 0 for number in range(20)] == [False] * 19 + [True]


def test_a_file_that_is_put_in_the_place_of_an_open_one_is_read(real_files, as_admin):
    SessionFactory(db=services.register("zoe").db, title="Before")
    connections["agent_zoe"].close()
    other = shutil.copyfile(databases.get_path("zoe"), real_files / "other.sqlite")
    with closing(sqlite3.connect(other)) as db, db:
        db.execute("UPDATE sessions SET title = 'After'")
    assert "Before" in as_admin.get("/agents/zoe/sessions/").text
    other.replace(databases.get_path("zoe"))
    assert "After" in as_admin.get("/agents/zoe/sessions/").text
    databases.get_path("zoe").unlink()
    assert as_admin.get("/agents/zoe/sessions/").status_code == 503


def test_unknown_agents_and_bad_names_are_refused(real_files):
    with pytest.raises(databases.UnknownAgent):
        databases.get_alias("nobody")
    for name in ("../etc", "", "Zoë!", "a" * 57, "UPPER"):
        with pytest.raises(Refused):
            services.register(name)
    assert not Agent.objects.exists()


@pytest.mark.parametrize(("name", "agent_id"), [("Main", "main"), (" My Agent ", "my-agent"), ("a_b-c", "a_b-c")])
def test_names_are_normalised(name, agent_id):
    assert services.normalise_agent_id(name) == agent_id


def test_an_old_file_is_refused_until_it_is_migrated(real_files, as_admin):
    agent = services.register("zoe")
    with connections[agent.db].cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'gate'")
        for table in GATE_TABLES:
            cursor.execute(f"DROP TABLE {table}")
    databases.remove_alias(agent.db)
    for address in ("/agents/zoe/sessions/", "/api/v1/agents/zoe/sessions"):
        answer = as_admin.get(address)
        assert answer.status_code == 503 and "Run openclaw-web serve" in answer.text
    call_command("migrate_agents", verbosity=0)
    assert as_admin.get("/agents/zoe/sessions/").status_code == 200


def test_migrate_agents_names_every_failure_and_does_the_rest(real_files, capsys):
    services.register("zoe")
    services.register("amy")
    databases.remove_alias("agent_zoe")
    databases.get_path("zoe").write_bytes(b"not a database" * 100)
    with pytest.raises(CommandError, match=r"1 agent database.*zoe"):
        call_command("migrate_agents")
    assert "amy: schema" in capsys.readouterr().out
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()  # Django leaves a connection whose first statement failed to the collector, which warns


def test_a_new_template_replaces_the_one_of_other_tables(real_files):
    stale = real_files / "state" / "agent-template-0123456789ab.sqlite"
    stale.touch()
    template = make_template()
    assert list(stale.parent.glob("agent-template-*")) == [template] != [stale]


def test_an_agents_file_holds_only_agent_tables(real_files):
    tables = set(connections[databases.create("zoe")].introspection.table_names())
    assert tables == {
        "artifacts",
        "conversation_contexts",
        "conversation_turns",
        "django_migrations",
        "episode_captures",
        "episode_gaps",
        "episode_heads",
        "episode_policies",
        "episode_runs",
        "episodic_events",
        "file_contents",
        "file_snapshots",
        "finding_scans",
        "findings",
        "indexed_files",
        *GATE_TABLES,
        *GUARDIAN_TABLES,
        "prompt_reports",
        "rejected_records",
        "removed_sessions",
        "session_days",
        "session_tools",
        "sessions",
        "tool_days",
        "trajectory_events",
        "transcript_events",
        "transcript_snapshots",
        "vfs_entries",
        "workspace_files",
    }


def test_no_relation_leaves_its_file(settings):
    assert check_relations() == []
    settings.AGENT_APPS = {"ledger", "auth"}
    assert {error.id for error in check_relations()} == {"agents.E001"}


@pytest.mark.parametrize(
    ("check", "attribute", "sentence"),
    [
        (check_column_kinds, "kind", "MemoryGateDecision.reason does not say what it holds."),
        (check_column_places, "says_where", "MemoryGateDecision.reason does not say where it is shown."),
    ],
)
def test_a_column_that_leaves_something_open_is_named(monkeypatch, check, attribute, sentence):
    assert check() == []
    monkeypatch.setattr(MemoryGateDecision._meta.get_field("reason"), attribute, None)
    assert [error.msg for error in check()] == [sentence]


SPEC_COLUMNS = {
    "sessions": "id:text channel_id:text conversation_target:text account_id:text created_at:integer "
    "last_activity_at:integer metadata:text",
    "conversation_turns": "id:text session_id:text turn_number:integer user_message_id:text user_message_content:text "
    "user_from:text user_metadata:text agent_message_id:text agent_message_content:text agent_metadata:text "
    "created_at:integer",
    "conversation_contexts": "id:integer turn_id:text role:text message:text timestamp:integer sequence_number:integer",
    "transcript_events": "session_id:text seq:integer event_json:text created_at:integer",
    "transcript_event_identities": "session_id:text event_id:text seq:integer event_type:text has_parent: "
    "parent_id:text message_idempotency_key:text created_at:integer",
    "transcript_snapshots": "session_id:text snapshot_id:text reason:text event_count:integer created_at:integer "
    "metadata_json:text",
    "agents": "agent_id:text config_fingerprint:text created_at:integer updated_at:integer agent_db_path:text",
    "agent_databases": "agent_id:text path:text schema_version:integer last_seen_at:integer size_bytes:integer",
    "backup_runs": "id:text created_at:integer archive_path:text status:text manifest_json:text",
    "migration_runs": "id:text started_at:integer finished_at:integer status:text report_json:text",
    "migration_sources": "source_key:text migration_kind:text source_path:text target_table:text source_sha256:text "
    "source_size_bytes:integer source_record_count:integer last_run_id:text status:text imported_at:integer "
    "removed_source:boolean report_json:text",
    "kv": "scope:text key:text value_json:text updated_at:integer",
    "dataset_samples": "id:text sample_type:text turn_id:text decision_id:text audit_id:text session_id:text "
    "content:text quality_score:real quality_factors:text annotation_status:text annotated_by:text "
    "annotated_at:integer annotation_notes:text privacy_checked:boolean contains_pii:boolean "
    "pii_redacted_content:text collection_strategy:text created_at:integer",
    "dataset_exports": "id:text export_name:text export_format:text sample_types:text filters:text "
    "total_samples:integer approved_samples:integer rejected_samples:integer avg_quality_score:real file_path:text "
    "file_size_bytes:integer checksum:text exported_by:text exported_at:integer",
    "subagent_runs": "run_id:text child_session_key:text requester_session_key:text controller_session_key:text "
    "created_at:integer ended_at:integer cleanup_handled:bool payload_json:text",
    "file_snapshots": "id:text file_name:text content:text content_hash:text created_at:integer",
    "write_guardian_audit": "id:text decision_id:text turn_id:text session_id:text target_file:text "
    "candidate_fact:text before_snapshot_id:text after_snapshot_id:text diff:text lines_added:integer "
    "lines_removed:integer lines_modified:integer status:text reason:text llm_model:text llm_latency_ms:integer "
    "agent_steps:integer created_at:integer",
    "rollbacks": "id:text audit_id:text rolled_back_at:integer rolled_back_by:text reason:text "
    "restored_snapshot_id:text previous_status:text",
    "behavior_corrections": "id:text audit_id:text original_status:text original_candidate_fact:text "
    "original_target_file:text corrected_status:text corrected_candidate_fact:text corrected_target_file:text "
    "correction_reason:text apply_to_future:boolean correction_pattern:text corrected_by:text corrected_at:integer",
}


@pytest.mark.parametrize("table", SPEC_COLUMNS)
def test_tables_have_the_columns_of_their_specifications(table):
    alias = "default" if table in connections["default"].introspection.table_names() else "agent_ada"
    with connections[alias].cursor() as cursor:
        cursor.execute(f"PRAGMA table_info({table})")
        actual = {name: kind.lower() for _, name, kind, *_ in cursor.fetchall()}
    expected = dict(column.split(":") for column in SPEC_COLUMNS[table].split())
    assert {name: actual.get(name) for name in expected} == expected
