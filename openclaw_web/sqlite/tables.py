"""Declares for every table whether sources or other rows give its rows again, and which check compares them."""

from django.apps import apps
from django.db.models import Model

from . import integrity

OF_SESSIONS, OF_SOURCES = "session_sums", "source_rows"  # the checks that import again and compare
# From sources, as long as these are there: the check that compares them. "": none does.
# Tables of sessions are in the order in which their rows are inserted.
READ_AGAIN = {
    **dict.fromkeys(("prompt_reports", "sessions", "transcript_events"), OF_SESSIONS),
    **dict.fromkeys(("artifacts", "rejected_records"), OF_SESSIONS),
    **dict.fromkeys(("trajectory_events", "indexed_files", "vfs_entries", "episodic_events"), OF_SOURCES),
    **dict.fromkeys(("cron_jobs", "cron_run_logs", "subagent_runs"), OF_SOURCES),
    **dict.fromkeys(("task_runs", "flow_runs", "delivery_queue_entries"), OF_SOURCES),
    **dict.fromkeys(("workspace_files", "provenance_records"), OF_SOURCES),
    "collector_skipped": "",  # each import writes them anew, whatever they hold
}
# From rows of other tables.
DERIVED = {
    **dict.fromkeys(("transcript_snapshots", "conversation_turns", "session_days", "session_tools"), OF_SESSIONS),
    "tool_days": "tool_sums",
    **dict.fromkeys(("agent_daily_stats", "agent_hours", "agent_summaries"), "sums"),
    **dict.fromkeys(("memory_spans", "newest_sessions", "newest_writes"), "sums"),
    **dict.fromkeys(("error_groups", "error_sums", "error_days"), "sums"),
    "site_spans": "site_sums",
    **dict.fromkeys(("gate_hours", "gate_days", "memory_gate_stats", "gate_session_sums"), "gate_sums"),
    "guardian_statuses": "guardian_statuses",
    "findings": "findings_changed",
    "finding_scans": "findings_positions",
    "finding_value_agents": "finding_counts",
    "finding_values": "finding_sums",
    "turn_signals": "turn_signals",
    "episode_heads": "episode_chain",
    "episode_gaps": "episode_gaps",
    # Computed anew at the next import, check, scan or page, whatever they hold.
    **dict.fromkeys(("gate_stale_sums", "gate_verdict_days", "gate_verdicts_state"), ""),
    "memory_standings": "",
    **dict.fromkeys(("problems", "problem_checks"), ""),
    **dict.fromkeys(("sample_signatures", "sample_exchanges", "version_taints", "signal_positions"), ""),
    "turn_outcomes": "",
}
# By people, programs and this site: nothing else has them.
ENTERED = {
    *("kv", "operator_audit", "idempotency_keys", "users", "api_tokens", "one_time_links", "invitations", "sign_ins"),
    *("job_runs", "agents", "backup_runs", "notifications", "migration_runs", "migration_sources"),
    *("gate_prompts", "gate_replays", "gate_replay_decisions", "guardian_runs", "guardian_steps"),
    *("guardian_handovers", "rollback_intents", "behavior_corrections", "guardian_tests", "regression_sets"),
    *("remediations", "remediation_steps"),
    *("episode_runs", "episode_policies", "episode_captures"),
    *("finding_verdicts", "dataset_samples", "sample_labels", "sample_claims", "sample_drafts"),
    *("review_draws", "review_actions", "sample_score_calls", "spot_checks", "approval_stops"),
    *("collection_strategies", "collection_runs", "sample_evidence"),
    *("review_queues", "guidelines", "queue_items", "queue_seats"),
    *(
        "datasets",
        "dataset_versions",
        "dataset_members",
        "release_seals",
        "dataset_sides",
        "dataset_exports",
        "benchmarks",
    ),
}
# What was read or told once, and stays although its source may be gone.
KEPT = {
    *("agent_databases", "collector_sources", "collector_reader_states", "collector_sessions"),
    *("removed_sessions", "conversation_contexts"),
    *("memory_gate_decisions", "gate_windows", "gate_receipts", "gate_calls"),
    *("file_contents", "file_snapshots", "write_guardian_audit", "guardian_receipts", "guardian_consolidations"),
    "rollbacks",
}


def list_models(check: str) -> list[type[Model]]:
    """The models whose rows a check compares, in the order of their declaration."""
    models = {model._meta.db_table: model for model in apps.get_models()}
    return [models[table] for table, name in (READ_AGAIN | DERIVED).items() if name == check]


def list_not_compared(*, is_deep: bool) -> list[str]:
    """The tables that could be made again, and whose rows no check of this kind compares."""
    without = {""}
    if not is_deep:
        without |= {OF_SESSIONS, OF_SOURCES} | {
            check.name for _app, check in integrity.list_checks() if check.find is None
        }
    return sorted(table for table, check in (READ_AGAIN | DERIVED).items() if check in without)
