"""What stands beside the tables of `people`: the audit log is append-only."""

ONLY_GROWS = "SELECT RAISE(ABORT, 'the audit log is append-only')"
TRIGGERS = {
    "operator_audit_no_update": "BEFORE UPDATE ON operator_audit",
    "operator_audit_no_delete": "BEFORE DELETE ON operator_audit",
    # INSERT OR REPLACE deletes without the triggers that refuse to delete.
    "operator_audit_no_replace": """BEFORE INSERT ON operator_audit
WHEN EXISTS (SELECT 1 FROM operator_audit WHERE id = NEW.id)""",
}


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name, moment in TRIGGERS.items():
            schema_editor.execute(f"CREATE TRIGGER {name} {moment} BEGIN {ONLY_GROWS}; END")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name in TRIGGERS:
            schema_editor.execute(f"DROP TRIGGER {name}")
