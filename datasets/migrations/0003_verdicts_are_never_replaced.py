from django.db import migrations

# INSERT OR REPLACE deletes without the triggers that refuse to delete.
TRIGGER = """CREATE TRIGGER sample_labels_no_replace BEFORE INSERT ON sample_labels
WHEN EXISTS (SELECT 1 FROM sample_labels WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END"""


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(TRIGGER)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER sample_labels_no_replace")


class Migration(migrations.Migration):
    dependencies = [("datasets", "0002_review_queue")]
    operations = [migrations.RunPython(add, drop, elidable=False)]
