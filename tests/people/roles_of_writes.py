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
}
OPERATIONS = {
    "GET /agents/{agent}/guardian/files/{name}/blame": ("viewer", None),
    "GET /agents/{agent}/guardian/files/{name}/history": ("viewer", None),
    "GET /agents/{agent}/guardian/writes": ("viewer", None),
    "GET /agents/{agent}/guardian/writes/{audit_id}": ("viewer", None),
    "GET /agents/{agent}/guardian/chart": ("viewer", None),
}
