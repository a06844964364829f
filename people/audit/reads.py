"""Which addresses show content: opening one of them is an entry in the audit log.

Lists of titles, sums and states are not in the table; `tests/people/test_audit_trail.py` names them, so that
nobody forgets to decide about a new one.
"""

# Route: the type of what it shows, and its id, made of what stands in the address (its query too).
READS = {
    "api:event_list": ("agent", "{agent}"),
    "api:export_detail": ("export", "{export_id}"),
    "api:export_file": ("export", "{export_id}"),
    "api:export_zip": ("export", "{export_id}"),
    "api:cron_detail": ("schedule", "{job_id}"),
    "api:cron_runs": ("schedule", "{job_id}"),
    "api:file_diff": ("file_version", "{to}"),
    "api:file_version": ("file_version", "{id}"),
    "api:gate_call_detail": ("gate_call", "{call_id}"),
    "api:gate_decision_detail": ("decision", "{decision_id}"),
    "api:gate_decision_list": ("agent", "{agent}"),
    "api:lint_list": ("agent", "{agent}"),
    "api:rejected_list": ("agent", "{agent}"),
    "api:sample_list": ("list", "samples"),
    "api:sample_detail": ("sample", "{sample_id}"),
    "api:session_branches": ("session", "{session_id}"),
    "api:session_detail": ("session", "{session_id}"),
    "api:session_events": ("session", "{session_id}"),
    "api:session_savings": ("session", "{session_id}"),
    "api:session_turns": ("session", "{session_id}"),
    "api:turn_list": ("agent", "{agent}"),
    "datasets:sample_detail": ("sample", "{sample_id}"),
    "gate:call_detail": ("gate_call", "{call_id}"),
    "gate:decision_detail": ("decision", "{decision_id}"),
    "guardian:file_detail": ("file", "{name}"),
    "ledger:record_detail": ("record", "{session_id}/{record_id}"),
    "ledger:session_branches": ("session", "{session_id}"),
    "ledger:session_detail": ("session", "{session_id}"),
    "ledger:session_live": ("session", "{session_id}"),
    "ledger:session_savings": ("session", "{session_id}"),
    "ledger:session_steps": ("session", "{session_id}"),
    "ledger:session_turns": ("session", "{session_id}"),
    "operations:backup_file": ("backup", "{backup_id}"),
    "automation:cron_detail": ("schedule", "{job_id}"),
    "operations:lint_list": ("agent", "{agent}"),
    "datasets:export_detail": ("export", "{export_id}"),
    "datasets:export_file": ("export", "{export_id}"),
    "datasets:export_zip": ("export", "{export_id}"),
}
