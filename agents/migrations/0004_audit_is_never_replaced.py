from django.db import migrations

# INSERT OR REPLACE deletes without the triggers that refuse to delete.
TRIGGER = """CREATE TRIGGER operator_audit_no_replace BEFORE INSERT ON operator_audit
WHEN EXISTS (SELECT 1 FROM operator_audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"""


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(TRIGGER)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER operator_audit_no_replace")


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_audit_is_append_only")]
    operations = [migrations.RunPython(add, drop, elidable=False)]
