"""Who may do what with writes to memory files: the pages and operations of test_roles about them."""

PAGES = {
    "guardian:audit_detail": ("GET", "viewer"),
    "guardian:audit_lines": ("GET", "viewer"),
    "guardian:audit_list": ("GET", "viewer"),
    "guardian:blame": ("GET", "viewer"),
    "guardian:decision_writes": ("GET", "viewer"),
    "guardian:file_history": ("GET", "viewer"),
    "guardian:session_writes": ("GET", "viewer"),
    "guardian:chart": ("GET", "viewer"),
    "guardian:rollback": ("GET", "operator"),
    "guardian:rollback_do": ("POST", "operator"),
    "guardian:rollback_settle": ("POST", "operator"),
    "guardian:session_rollback": ("GET", "operator"),
    "guardian:session_rollback_do": ("POST", "operator"),
}
OPERATIONS = {
    "GET /agents/{agent}/guardian/files/{name}/blame": ("viewer", None),
    "GET /agents/{agent}/guardian/files/{name}/history": ("viewer", None),
    "GET /agents/{agent}/guardian/writes": ("viewer", None),
    "GET /agents/{agent}/guardian/writes/{audit_id}": ("viewer", None),
    "GET /agents/{agent}/guardian/chart": ("viewer", None),
    "GET /agents/{agent}/guardian/writes/{audit_id}/rollback": ("operator", None),
    "POST /agents/{agent}/guardian/writes/{audit_id}/rollback": ("operator", {"reason": "x", "seen": ""}),
    "GET /agents/{agent}/guardian/sessions/{session_id}/rollback": ("operator", None),
    "POST /agents/{agent}/guardian/sessions/{session_id}/rollback": ("operator", {"reason": "x", "seen": {}}),
}
