from django.db import migrations

TRIGGERS = {
    "operator_audit_no_update": "BEFORE UPDATE ON operator_audit",
    "operator_audit_no_delete": "BEFORE DELETE ON operator_audit",
}


def add(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    for name, moment in TRIGGERS.items():
        schema_editor.execute(
            f"CREATE TRIGGER {name} {moment} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
        )


def drop(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    for name in TRIGGERS:
        schema_editor.execute(f"DROP TRIGGER {name}")


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_operator_audit")]
    operations = [migrations.RunPython(add, drop, elidable=False)]
