"""Known versions of OpenClaw's databases, and parts with content that is not read.

No Django.
"""

from dataclasses import dataclass
from typing import Any

from . import database_tables
from .database import Database
from .database_tables import Tables

MOST = 100  # names in one list


@dataclass(frozen=True, slots=True)
class Schema:
    """One of OpenClaw's two databases: its known versions, and its tables by treatment.

    `not_read` are tables with content that a person may miss, `familiar` those without: secrets, queues, caches,
    indexes. `columns` are those of tables that are read in part.
    """

    versions: range
    tables: Tables
    not_read: frozenset[str]
    familiar: frozenset[str]
    columns: dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class UnreadParts:
    """The parts of one database that are not read.

    `rows` counts those of each declared table.
    """

    version: int
    known: int  # the highest version that is known
    rows: dict[str, int]
    unfamiliar: list[str]  # tables with rows, and columns as `table.column`, that no known version has

    def as_json(self) -> dict[str, Any]:
        """The same values for the store, a receipt and the doctor."""
        return {
            "version": self.version,
            "known": self.known,
            "is_newer": self.version > self.known,
            "rows": self.rows,
            "unfamiliar": self.unfamiliar,
        }


def _split_names(words):
    return frozenset(words.split())


AGENT = Schema(
    range(14, 26),
    database_tables.AGENT,
    _split_names(
        "session_reactions session_participants session_members session_suggestions session_progress_cards"
        " heartbeat_outcomes memory_entry_origins memory_index_chunk_provenance"
        " memory_session_tombstones standing_intents board_tabs board_widgets"
    ),
    _split_names(
        "acp_parent_stream_events auth_profile_state auth_profile_store cache_entries context_engine_turn_outbox"
        " memory_embedding_cache memory_index_chunk_recall_metadata memory_index_meta memory_index_state"
        " session_canonical_validation_pending session_conversations"
        " session_goal_operations session_input_completions session_key_contract"
        " session_recipient_authority session_transcript_active_events session_transcript_fts_rows"
        " session_transcript_index_state state_leases kv"
    ),
    {
        "session_nodes": _split_names(
            "archived_at category created_actor_id created_actor_type created_at created_via entry_valid"
            " fork_source_entry_id fork_source_session_id fork_source_session_key icon last_activity_at"
            " last_interaction_at last_read_at legacy_acp_migration_json owner_actor_id owner_actor_type"
            " owner_assigned_at owner_assigned_by_id owner_assigned_by_type parent_session_key pinned_at project_id"
            " snapshot_revision spawned_by status"
        ),
        "session_windows": _split_names(
            "acp_owned agent_harness_id ended_at hook_external_content_source parent_session_key plugin_owner_id"
            " session_entry_provenance session_scope spawned_by started_at transcript_observed_at"
            " transcript_updated_at"
        ),
        "transcript_events": frozenset(("event_utf8_bytes", "navigation_json")),
        "session_entry_snapshots": frozenset(),
        "session_transcript_cold_archives": frozenset(("event_count", "last_seq", "raw_bytes")),
    },
)
STATE = Schema(
    range(1, 21),
    database_tables.STATE,
    _split_names(
        "update_runs session_groups session_state_events meeting_transcript_sessions"
        " meeting_transcript_summaries meeting_transcript_utterances task_delivery_state diagnostic_events"
        " channel_ingress_events skill_workshop_proposals projects"
    ),
    _split_names(
        "acp_replay_events acp_replay_sessions acp_sessions agent_database_leases agent_databases"
        " agent_deletion_journal agent_model_catalogs agent_provenance android_notification_recent_packages"
        " apns_registration_tombstones apns_registrations audit_identity_keys auth_profile_state auth_profile_stores"
        " backup_runs capture_blobs capture_events capture_sessions channel_pairing_allow_entries"
        " channel_pairing_requests claw_cron_refs claw_installs claw_mcp_server_refs claw_package_refs"
        " claw_workspace_files clawhub_promotion_claims clawhub_promotions_feed_state command_log_entries commitments"
        " config_health_entries config_machine_state config_revision_keys cron_job_scratch"
        " current_conversation_bindings device_auth_tokens device_bootstrap_tokens device_identities"
        " device_pair_setup_completions device_pairing_join_codes device_pairing_paired device_pairing_pending"
        " diagnostic_stability_bundles exec_approvals_config fleet_cells gateway_boot_lifecycle"
        " gateway_origin_device_tokens gateway_restart_handoff gateway_restart_intent gateway_restart_sentinel"
        " github_publication_requests installed_plugin_index macos_port_guardian_records"
        " managed_outgoing_image_records mcp_oauth_stores media_blobs migration_runs migration_sources"
        " model_capability_cache model_catalog_remote native_hook_relay_bridges node_host_config node_pairing_paired"
        " node_pairing_pending node_worker_prepared_workspaces official_external_plugin_catalog_snapshots"
        " onboarding_recommendations operator_approvals outbound_media_provenance plugin_binding_approvals"
        " plugin_blob_entries plugin_state_entries sandbox_registry_entries secret_store_entries session_state_heads"
        " session_upstream_links session_watch_cursors sidebar_sections skill_curator_state skill_lifecycle"
        " skill_upload_chunks skill_uploads skill_usage skill_workshop_collection_reviews"
        " skill_workshop_proposal_events skill_workshop_proposal_origin_runs skill_workshop_proposal_rollbacks"
        " state_leases tui_last_sessions update_check_state user_preferences user_profile_emails"
        " user_profile_identities user_profiles voicewake_routing_config voicewake_routing_routes voicewake_triggers"
        " web_push_approval_deliveries web_push_subscriptions web_push_vapid_keys worker_environment_credentials"
        " worker_environment_session_attachments worker_environment_ssh_fallback_ports worker_environments"
        " worker_inference_turns worker_session_placement_moves worker_session_placements"
        " worker_session_tool_operations worker_transcript_commit_heads worker_transcript_commits"
        " worker_turn_tool_authorities worker_workspace_pending_results worker_workspace_reconciliations"
        " workspace_attestations workspace_generated_bootstrap_hashes workspace_path_aliases workspace_setup_state"
        " worktree_provisioned_file_chunks worktree_templates worktrees"
    ),
    {},
)


def find_unread_parts(database: Database, schema: Schema) -> UnreadParts:
    """Find the parts of an opened database with content that is not read.

    Raises DamagedDatabase when SQLite fails.
    """
    rows = {name: count for name in sorted(schema.not_read & database.tables.keys()) if (count := database.count(name))}
    known = schema.not_read | schema.familiar | schema.tables.keys()
    strange = [name for name in sorted(database.tables) if name not in known and not _is_of_sqlite(name, database)]
    unfamiliar = [name for name in strange if database.count(name)]
    for table in sorted(schema.columns.keys() & database.tables.keys()):
        others = database.tables[table] - schema.columns[table] - set(schema.tables[table])
        unfamiliar += [f"{table}.{name}" for name in sorted(others)]
    return UnreadParts(database.version, schema.versions.stop - 1, rows, unfamiliar[:MOST])


def _is_of_sqlite(name, database):
    """Whether SQLite made a table for itself, or for a virtual table.

    A search index repeats content of other tables.
    """
    return name.startswith("sqlite_") or any(name.startswith(f"{virtual}_") for virtual in database.virtual)
