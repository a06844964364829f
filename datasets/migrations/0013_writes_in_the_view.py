from importlib import import_module

from django.db import migrations

# A sample that is a write to a memory file holds what the guardian did as its decision.
BEFORE = import_module("datasets.migrations.0010_decisions_in_the_view").VIEW
STATUS = "json_extract(s.content, '$.writeGuardian.output.status')"
OF_WRITE = "CASE WHEN s.sample_type = 'write_guardian_decision' THEN json_extract(s.content, '$.decision') END"
VIEW = BEFORE.replace(f"THEN {STATUS} END", f"THEN COALESCE({STATUS}, {OF_WRITE}) END")


def _become(view):
    def change(apps, schema_editor):
        if schema_editor.connection.vendor == "sqlite":
            schema_editor.execute("DROP VIEW pending_review_samples")
            schema_editor.execute(view)

    return change


class Migration(migrations.Migration):
    dependencies = [("datasets", "0012_real_homes")]
    operations = [migrations.RunPython(_become(VIEW), _become(BEFORE), elidable=False)]
