"""The tables and columns of OpenClaw's databases that may be read.

A column that is not named here cannot be read: `ledger.collectors.database` tells SQLite so, and SQLite refuses the
query. Tables of secrets (auth profiles, devices, tokens, approvals) and everybody's else are not here. Of the state of
plugins, which holds secrets, only OpenClaw's own provenance records are copied out; the table itself stays shut.
"""

from dataclasses import dataclass

Tables = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Extract:
    """Rows of a closed table, which are copied out when a database is opened.

    `where` is SQL of constants. A value of more than `most_bytes` is NULL; at most `most_rows` are copied.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    filters: tuple[str, ...]  # the columns that `where` names
    where: str
    most_rows: int
    most_bytes: int


VERSION: Tables = {"schema_meta": ("meta_key", "role", "schema_version", "agent_id", "app_version")}

MEMORY: Tables = {
    "memory_index_sources": ("path", "source", "mtime", "size"),
    "memory_index_chunks": ("path", "source"),
    "files": ("path", "source", "mtime", "size"),
    "chunks": ("path", "source"),
}

# agents/<agent>/agent/openclaw-agent.sqlite, versions 16 to 25; `session_entries` and the last three of other versions.
AGENT: Tables = {
    **VERSION,
    "session_nodes": (
        *("session_key", "current_session_id", "entry_json", "updated_at", "label", "display_name"),
        *("parent_session_key", "spawned_by", "fork_source_session_key", "fork_source_session_id"),
    ),
    "session_entry_snapshots": ("session_key", "field", "value_json"),
    "session_entries": ("session_key", "entry_json", "updated_at"),
    "session_windows": (
        "session_id",
        "session_key",
        "previous_session_id",
        "reason",
        "created_at",
        "updated_at",
        "status",
        "chat_type",
        "channel",
        "account_id",
        "primary_conversation_id",
        "model_provider",
        "model",
        "display_name",
    ),
    "conversations": ("conversation_id", "channel", "account_id", "kind", "delivery_target", "label"),
    # Of deliveries and inputs only what ended how and when: no words.
    "message_tool_run_outcomes": ("session_key", "run_id", "outcome", "occurred_at"),
    "conversation_deliveries": ("source_session_key", "queue_id", "status", "created_at"),
    "session_pending_inputs": ("session_id", "accepted_at", "consumed_event_id"),
    "transcript_events": ("session_id", "seq", "event_json", "created_at", "event_zstd"),
    "transcript_event_identities": ("session_id", "event_id", "seq"),
    "transcript_rewrite_watermarks": ("session_id", "generation"),
    "session_transcript_archives": (
        "session_id",
        "generation",
        "session_key",
        "reason",
        "encoding",
        "archive_blob",
        "archive_name",
        "created_at",
    ),
    "session_transcript_cold_archives": (
        "session_id",
        "generation",
        "archive_name",
        "archive_sha256",
        "archive_bytes",
        "archived_at",
        "storage",
        "archive_blob",
    ),
    "trajectory_runtime_events": ("session_id", "seq", "run_id", "event_json", "created_at"),
    "memory_index_sources": MEMORY["memory_index_sources"],
    "memory_index_chunks": MEMORY["memory_index_chunks"],
    "vfs_entries": ("namespace", "path", "kind", "content_blob", "updated_at"),
    "tool_artifacts": ("run_id", "artifact_id", "kind", "blob", "created_at"),
    "run_artifacts": ("run_id", "path", "kind", "blob", "created_at"),
}

# The records of who wrote a memory file, which OpenClaw keeps among the state of plugins.
PROVENANCE = Extract(
    "memory_provenance_rows",
    "plugin_state_entries",
    ("entry_key", "value_json", "expires_at"),
    ("plugin_id", "namespace"),
    "plugin_id = 'core:memory-artifact-provenance' AND namespace = 'workspace-files'",
    most_rows=2_000,
    most_bytes=64 * 1024,
)

# state/openclaw.sqlite, versions 1 to 20.
STATE: Tables = {
    **VERSION,
    "cron_jobs": ("store_key", "job_id", "name", "enabled", "agent_id", "job_json", "state_json", "updated_at"),
    "cron_run_logs": (
        "job_id",
        "seq",
        "ts",
        "status",
        "error",
        "summary",
        "session_id",
        "run_at_ms",
        "duration_ms",
        "entry_json",
    ),
    "cron_run_receipts": (
        "receipt_id",
        "job_id",
        "agent_id",
        "status",
        "started_at_ms",
        "finished_at_ms",
        "error_text",
    ),
    "task_runs": (
        "task_id",
        "runtime",
        "task_kind",
        "source_id",
        "requester_session_key",
        "owner_key",
        "child_session_key",
        "parent_flow_id",
        "parent_task_id",
        "agent_id",
        "run_id",
        "label",
        "task",
        "status",
        "delivery_status",
        "created_at",
        "started_at",
        "ended_at",
        "tool_use_count",
        "last_tool_name",
        "error",
        "progress_summary",
        "terminal_summary",
        "terminal_outcome",
        "detail_json",
    ),
    "flow_runs": (
        "flow_id",
        "shape",
        "owner_key",
        "status",
        "goal",
        "current_step",
        "blocked_summary",
        "created_at",
        "updated_at",
        "ended_at",
    ),
    "subagent_runs": (
        "run_id",
        "child_session_key",
        "controller_session_key",
        "requester_session_key",
        "task",
        "label",
        "model",
        "created_at",
        "started_at",
        "ended_at",
        "outcome_json",
        "ended_reason",
        "cleanup_handled",
        "payload_json",
    ),
    # Of these, only the ends of tool calls.
    "audit_events": (
        *("sequence", "occurred_at", "kind", "action", "status", "error_code", "agent_id", "session_id", "run_id"),
        *("tool_call_id", "tool_name", "duration_ms"),
    ),
    # The message (entry_json) and its recipient (target) are not read.
    "delivery_queue_entries": (
        "queue_name",
        "id",
        "status",
        "entry_kind",
        "session_key",
        "channel",
        "retry_count",
        "last_attempt_at",
        "last_error",
        "enqueued_at",
        "updated_at",
        "failed_at",
    ),
}
