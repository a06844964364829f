"""Homes of the version before tables moved between apps: adopted as they are, or refused before anything is changed."""

import re
import signal
import sqlite3
import urllib.request
from contextlib import closing

import pytest

from openclaw_web.sqlite import adopted
from operations.backups import manifest
from tests import homes
from tests.operations.backups.backing_up import run
from tests.processes import wait_for

from .old_homes import AGENT, ANSWERS, DUMPS, GLOBAL, LAST, WAITS, backup, half_migrated, old_home, rows, schema

pytestmark = pytest.mark.kill

# What came since, in files of both kinds: tables and indexes.
GLOBAL_NEW = {
    *("collector_reader_states", "collector_skipped", "idx_sample_agent_prompted", "idx_sample_cut_off"),
    *("idx_standing_agent", "idx_standing_file", "idx_standing_rank", "idx_standing_state", "memory_standings"),
    *("idx_sample_prompted", "idx_sample_repeated", "idx_skipped_agent", "idx_skipped_kind", "idx_skipped_path"),
    *("idx_skipped_reason", "idx_status_cut_off", "idx_status_prompted", "sample_signatures"),
    *("review_draws", "sample_signatures_outdated"),
    *("idx_problem_agent", "idx_problem_closed", "idx_problem_found", "idx_problem_kind", "idx_problem_severity"),
    *("idx_problem_since", "idx_problem_state", "problem_checks", "problems"),
    *("agent_hours", "idx_agent_hour_span", "idx_memory_span", "idx_newest_session_time", "idx_newest_write_time"),
    *("memory_spans", "newest_sessions", "newest_writes", "sample_signatures_outdated", "site_spans"),
}
GATE_NEW = {
    *("gate_calls", "gate_days", "gate_hours", "gate_prompts", "gate_receipts", "gate_replay_decisions"),
    *("gate_replays", "gate_session_sums", "gate_sums_state", "gate_windows", "memory_gate_stats"),
    *("idx_call_created", "idx_call_decision", "idx_call_model", "idx_call_outcome", "idx_call_replay"),
    *("idx_call_session", "idx_call_turn", "idx_gate_created", "idx_gate_model", "idx_gate_prompt"),
    *("idx_gate_session_last", "idx_gate_session_total", "idx_gate_slow", "idx_gate_unseen", "idx_replay_created"),
    *("idx_replay_outcome", "idx_replay_same"),
    *("gate_verdict_days", "gate_verdicts_state", "idx_gate_judged", "idx_gate_unjudged", "idx_gate_verdict"),
    *("guardian_runs", "guardian_steps", "idx_guardian_run_asked", "idx_guardian_run_audit"),
    *("idx_guardian_run_created", "idx_guardian_run_state", "idx_guardian_run_turn"),
    *("idx_guardian_step_created", "idx_guardian_step_run"),
}
GUARDIAN_NEW = {
    *("behavior_corrections", "guardian_consolidations", "guardian_receipts", "guardian_statuses"),
    *("file_contents", "idx_apply_to_future", "idx_audit_after", "idx_audit_before", "idx_audit_created"),
    *("idx_audit_decision", "idx_audit_file", "idx_audit_session_time", "idx_audit_status"),
    *("idx_audit_chart", "idx_audit_origin", "idx_audit_retry", "idx_audit_rule", "idx_intent_meanwhile"),
    *("idx_audit_flagged", "idx_intent_displaced", "idx_receipt_audit"),
    *("idx_audit_turn", "idx_correction_audit", "idx_guardian_statuses", "idx_intent_open"),
    *("idx_intent_snapshot", "idx_rollback_own", "idx_rollback_snapshot", "idx_rolled_back_at"),
    *("guardian_handovers", "idx_handover_audit", "idx_handover_created", "idx_handover_open", "idx_handover_own"),
    "idx_handover_run",
    *("idx_provenance_file", "provenance_records", "rollback_intents", "rollbacks", "write_guardian_audit"),
}
LEDGER_NEW = {"idx_event_repeat", "idx_identity_reset", "idx_session_parents"}
# The definitions that a table or an index has since, and those that it had.
COST = ({'"unpriced_tokens" integer NOT NULL', '"cost_usd" real NULL'}, {'"cost_usd" real NOT NULL'})
RANGES = {
    '"latency_json" text DEFAULT \'\' NOT NULL', '"models_json" text DEFAULT \'\' NOT NULL',
    '"removed_error_count" integer NOT NULL', '"removed_turn_count" integer NOT NULL',
}  # fmt: skip
RAW = ({'"raw" BLOB NULL'}, set())
GLOBAL_CHANGED = {
    "agent_daily_stats": (COST[0] | RANGES, COST[1]),
    "agent_summaries": (COST[0] | {'"has_repeats" bool NOT NULL'}, COST[1]),
    "agents": (
        {'"deleted_left_out_count" integer NOT NULL', '"reset_left_out_count" integer NOT NULL',
         '"reported_workspace" text NOT NULL', '"workspace" text NOT NULL', '"workspace_reported_at" integer NULL'},
        set(),
    ),
    "collector_sessions": ({'"id_checksum" text DEFAULT \'\' NOT NULL'}, set()),
    "collector_sources": ({'"is_named" bool DEFAULT 0 NOT NULL', '"session_id" text DEFAULT \'\' NOT NULL'}, set()),
    "dataset_exports": ({'"places_json" text NULL', '"difference_json" text NULL'}, set()),
    "dataset_samples": (
        {'"facts_version" integer NULL', '"prompted_by" text NULL', '"repeat_of" text NULL', '"reply_stop" text NULL',
         '"turn_traits" text NULL'},
        set(),
    ),
    "idx_sample_place": (
        {'"sample_type"', '"annotation_status"', '"prompted_by"', '"reply_stop"', '"quality_score"', '"turn_traits"'},
        set(),
    ),
    "job_runs": (
        {'"cancel_requested_at" integer NULL', '"cancel_requested_by" text NOT NULL', '"language" text NOT NULL',
         '"ends_with_process" bool NOT NULL'},
        set(),
    ),
    "users": ({'"language" text NOT NULL', '"theme" text NOT NULL', '"time_zone" text NOT NULL'}, set()),
}  # fmt: skip
AGENT_CHANGED = {
    "conversation_turns": (COST[0] | {'"repeat_of" text NULL'}, COST[1]),
    "file_snapshots": RAW,
    "idx_decision": ({'"created_at"'}, set()),
    "idx_session_cost": ({'(COALESCE("cost_usd"', "-1.0))"}, {'"cost_usd"'}),
    "idx_turn": ({'"created_at"'}, set()),
    "memory_gate_decisions": (
        {'"cost_usd" real NULL', '"is_window_derived" bool NOT NULL', '"match" text NOT NULL',
         '"prompt_version" text NULL', '"saw_user" bool NULL', '"session_key" text NULL', '"sources" integer NOT NULL',
         '"window_hash" text NULL', '"verdict" text NULL',
         'CONSTRAINT "gate_fact" CHECK ((NOT ("origin" = \'recorded\') OR "decision" = \'NO_WRITE\' OR'
         ' ("candidate_fact" > \'\' AND "candidate_fact" IS NOT NULL)))'},
        set(),
    ),
    "session_days": COST,
    "sessions": (
        COST[0] | {'"id_checksum" text DEFAULT \'\' NOT NULL', '"parents" text NOT NULL',
                   '"repeats_mark" text NOT NULL'},
        COST[1],
    ),
    "transcript_events": ({'"repeat_of" text NULL'}, set()),
    "workspace_files": RAW,
}  # fmt: skip
REWORKED = {"pending_review_samples"}  # the spec's view, which shows decisions and writes too
CREATE = "from agents import databases; databases.create('main')"
WENT = "django_tasks_database_dbtaskresult"
BETWEEN = {
    "0011_the_row_is_the_queue": "0002_the_row_is_the_queue",
    "0012_cancelled_jobs": "0003_cancelled_jobs",
}
REFUSAL = f"{'.'.join(LAST)} is missing. Nothing was changed."


@pytest.fixture
def old(tmp_path):
    home = old_home(tmp_path / "home")
    yield home
    home.close()


@pytest.fixture
def half(tmp_path):
    home = half_migrated(tmp_path / "home")
    yield home
    home.close()


def of_before(dump, tmp_path):
    file = tmp_path / dump
    with closing(sqlite3.connect(file)) as db:
        db.executescript((DUMPS / dump).read_text())
    return {name: found for name, found in schema(file).items() if found[0] != WENT}


def definitions(found):
    """The columns, constraints or terms that the SQL of a table or an index lists, in no order."""
    table, sql = found
    return table, frozenset(sql.partition("(")[2].removesuffix(")").split(", "))


def check_changed(now, before, changed):
    """That each table and index has what it had, but for the definitions that are listed as new or gone."""
    for name in before.keys() - REWORKED:
        (table, here), (table_before, there) = definitions(now[name]), definitions(before[name])
        assert (name, table, here - there, there - here) == (name, table_before, *changed.get(name, (set(), set())))
    assert changed.keys() <= before.keys()


def test_the_schema_is_what_it_was(migrated, tmp_path):
    now, before = schema(migrated / GLOBAL), of_before("global.sql", tmp_path)
    assert now.keys() == before.keys() | GLOBAL_NEW
    check_changed(now, before, GLOBAL_CHANGED)
    assert run(tmp_path / "home", "shell", "--no-imports", "-c", CREATE)[0] == 0
    now, before = schema(tmp_path / "home" / AGENT), of_before("agent.sql", tmp_path)
    assert now.keys() == before.keys() | GATE_NEW | GUARDIAN_NEW | LEDGER_NEW
    check_changed(now, before, AGENT_CHANGED)


def test_a_migrated_home_has_the_schema_of_a_new_one(old, migrated):
    assert old.start("migrate").end() == 0
    assert schema(old.path / GLOBAL) == schema(migrated / GLOBAL)
    assert old.start("migrate", "--check").end() == 0
    assert old.start("migrate_agents").end() == 0
    assert run(old.path, "shell", "--no-imports", "-c", CREATE.replace("main", "new"))[0] == 0
    assert schema(old.path / AGENT) == schema(old.path / str(AGENT).replace("main", "new"))


def test_an_old_home_is_served(old):
    server = old.serve()
    address = server.address()
    with urllib.request.urlopen(f"{address}/healthz") as answer:
        assert answer.status == 200
    wait_for(lambda: old.job(WAITS)["state"] != "queued")
    wait_for(lambda: old.job(WAITS)["state"] != "running")
    assert (old.job(WAITS)["state"], old.job(WAITS)["attempts"]) == ("finished", 1)
    server.signal(signal.SIGTERM)
    assert server.end() == 0
    assert "Traceback" not in server.said


def test_its_pages_show_what_it_kept(old):
    for words in (("migrate",), ("migrate_agents",), ("collectstatic", "--noinput")):
        assert old.start(*words).end() == 0
    process = old.start("shell", "--no-imports", "-c", ANSWERS)
    assert process.end() == 0, process.said
    answers = re.findall(r"^(\d+) (\S+)", process.said, re.MULTILINE)
    assert len(answers) > 15
    assert [path for status, path in answers if status != "200"] == []
    for said in ("What failed", "signed out a browser", "signed out everywhere"):
        assert said in process.said


def test_the_doctor_finds_nothing_wrong_with_it(old):
    for words in ("migrate", "migrate_agents"):
        assert run(old.path, words)[0] == 0
    homes.Home(old.path.parent / "home-source")
    status, out, err = run(old.path, "doctor", "--deep")
    assert "other finding" not in out, out + err
    assert status == 0


def test_the_doctor_brings_it_up_to_date(old):
    homes.Home(old.path.parent / "home-source")
    _status, out, err = run(old.path, "doctor")
    assert "jobs.0004_language" in out, out + err
    assert run(old.path, "doctor", "--fix")[0] == 0
    assert run(old.path, "migrate", "--check")[0] == 0


# The doctor has a status of its own for what it cannot begin with.
@pytest.mark.parametrize(
    ("words", "ended"),
    [(["migrate"], 3), (["migrate_agents"], 3), (["serve", "--port", "0"], 3), (["doctor", "--fix"], 2)],
)
def test_a_half_migrated_home_is_refused_and_left_alone(half, words, ended):
    before = rows(half)
    homes.Home(half.path.parent / "home-source")
    status, out, err = run(half.path, *words)
    assert REFUSAL in err, out
    assert status == ended
    assert "Traceback" not in out + err
    assert rows(half) == before
    assert not [*half.path.glob("state/*before-migrate*"), *half.path.glob("static")]


def test_the_doctor_says_what_a_half_migrated_home_lacks(half):
    homes.Home(half.path.parent / "home-source")
    status, out, _err = run(half.path, "doctor")
    assert REFUSAL in out
    assert status != 0


def test_a_home_of_a_later_version_of_before_is_adopted(old):
    """Between the two versions, jobs could be cancelled already and their deliveries were gone."""
    assert run(old.path, "migrate")[0] == 0
    with closing(sqlite3.connect(old.path / GLOBAL)) as db, db:
        for app in ("people", "jobs", "agents", "automation", "overview", "collecting", "operations"):
            db.execute("DELETE FROM django_migrations WHERE app = ? AND name = '0001_tables'", [app])
        for then, now in BETWEEN.items():
            sql = "UPDATE django_migrations SET app = 'operations', name = ? WHERE app = 'jobs' AND name = ?"
            db.execute(sql, [then, now])
    before = schema(old.path / GLOBAL)
    assert manifest.refuse_newer([".".join(one) for one in adopted.FORMER]) is None
    assert run(old.path, "migrate")[0] == 0
    assert run(old.path, "migrate", "--check")[0] == 0
    assert schema(old.path / GLOBAL) == before


def test_a_backup_of_before_verifies_and_restores(old, tmp_path):
    file, home = backup(old), tmp_path / "restored"
    assert run(home, "backup", "verify", file)[:2] == (0, "1 file and 2 databases are unchanged since the backup.\n")
    status, out, err = run(home, "backup", "restore", file)
    assert status == 0, err
    assert "1 agent, 1 user" in out
    assert run(home, "migrate", "--check")[0] == 0
    for words in ("migrate", "migrate_agents"):
        assert old.start(words).end() == 0
    assert schema(home / AGENT) == schema(old.path / AGENT)


def test_a_backup_of_a_half_migrated_home_is_not_restored(half, tmp_path):
    file, home = backup(half), tmp_path / "restored"
    status, _out, err = run(home, "backup", "restore", file)
    assert REFUSAL in err
    assert (status, "Traceback" in err) == (3, False)
    assert not (home / AGENT).exists()
    assert not [*tmp_path.glob("restored.*")]
