"""Addresses that show content; opening one is recorded in the audit log.

Lists of titles, sums and states are not in the table. `tests/people/test_audit_trail.py` lists them, so that every new
address needs a decision.
"""

# By the type of the content and its id, which is built from the address and its query: the routes that show it.
SHOWN = {
    ("agent", "{agent}"): """
        api:event_list api:gate_decision_list api:guardian_opted_out api:guardian_rule_list api:guardian_write_list
        api:lint_list api:rejected_list api:turn_list guardian:opted_out guardian:rule_list operations:lint_list
    """,
    ("backup", "{backup_id}"): "operations:backup_file",
    ("decision", "{decision_id}"): "api:gate_decision_detail gate:decision_detail",
    ("episode", "{event_id}"): "episodes:event_detail",
    ("episode", "{scope}"): "api:episode_list",
    ("episode", "{session_id}"): "api:episode_replay episodes:session_replay",
    ("export", "{export_id}"): """
        api:export_detail api:export_file api:export_zip datasets:export_detail datasets:export_file datasets:export_zip
    """,
    ("file", "{name}"): """
        api:guardian_file_blame api:guardian_file_cure api:guardian_file_history guardian:file_cure guardian:file_detail
    """,
    ("file_version", "{id}"): "api:file_version",
    ("file_version", "{to}"): "api:file_diff",
    ("finding", "{value_hash}"): "api:finding_detail api:finding_places datasets:finding_detail",
    ("gate_call", "{call_id}"): "api:gate_call_detail gate:call_detail",
    ("handover", "{handover_id}"): "api:guardian_handover_detail guardian:handover_detail",
    ("list", "samples"): "api:sample_list",
    ("proposal", "{proposal_id}"): "api:guardian_proposal_detail",
    ("proposal", "{run_id}"): "guardian:proposal_detail guardian:proposal_patch",
    ("record", "{session_id}/{record_id}"): "ledger:record_detail",
    ("sample", "{sample_id}"): "api:sample_detail datasets:sample_detail",
    ("schedule", "{job_id}"): "api:cron_detail api:cron_runs automation:cron_detail",
    ("session", "{session_id}"): """
        api:guardian_session_rollback_preview api:session_branches api:session_detail api:session_events
        api:session_savings api:session_turns guardian:session_rollback ledger:session_branches ledger:session_detail
        ledger:session_live ledger:session_savings ledger:session_steps ledger:session_turns api:session_tree
        automation:session_tree
    """,
    ("trace", "{trace_id}"): "api:trace_file operations:trace_file",
    ("write", "{audit_id}"): """
        api:guardian_rollback_preview api:guardian_write_detail datasets:write_opinion guardian:audit_detail
        guardian:audit_lines guardian:correct guardian:corrections guardian:rollback guardian:write_retry
    """,
}
AUDITED_ROUTES = {route: subject for subject, routes in SHOWN.items() for route in routes.split()}
