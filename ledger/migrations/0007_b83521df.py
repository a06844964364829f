from django.db import migrations, models

from ledger.errors import record_groups

IS_COUNTED_ERROR = models.Q(('is_failed', True), ('is_synthetic', False), ('repeat_of__isnull', True))


def fill_groups(apps, schema_editor):
    """Name the groups of the failed calls that are stored already."""
    record_groups.fill_groups(schema_editor.connection.alias)


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0006_49bab225'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # As Django's AddField writes the column, which would copy the whole table.
            database_operations=[
                migrations.RunSQL("""ALTER TABLE "transcript_events" ADD COLUMN "error_group" text NULL"""),
            ],
            state_operations=[
                migrations.AddField(model_name='transcriptevent', name='error_group', field=models.TextField(null=True)),
            ],
        ),
        migrations.RunPython(fill_groups, migrations.RunPython.noop, elidable=False),
        migrations.AddIndex(
            model_name='transcriptevent',
            index=models.Index(condition=IS_COUNTED_ERROR, fields=['error_group', 'created_at'], name='idx_event_error'),
        ),
        migrations.AddIndex(
            model_name='transcriptevent',
            index=models.Index(condition=IS_COUNTED_ERROR, fields=['error_group', 'session_id', 'created_at'], name='idx_event_error_session'),
        ),
    ]
