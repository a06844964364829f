import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models

IDENTITIES = """
    CREATE VIEW "transcript_event_identities" AS
    SELECT "session_id", "event_id", "seq", "event_type", "parent_id" IS NOT NULL AS "has_parent", "parent_id",
        "message_idempotency_key", "created_at"
    FROM "transcript_events" WHERE "event_id" IS NOT NULL
"""
MOVED = ("event_id", "parent_id", "message_idempotency_key")


def move_identities(apps, schema_editor):
    """Bring the ids of records into their rows, which keep their places; the table of ids becomes a view."""
    event = apps.get_model("ledger", "TranscriptEvent")
    with schema_editor.connection.cursor() as cursor:
        is_new = "transcript_event_identities" not in schema_editor.connection.introspection.table_names(cursor)
    if not is_new:
        for name in ("idx_event_aside", "idx_event_repeat", "idx_event_created"):
            schema_editor.execute(f'DROP INDEX IF EXISTS "{name}"')
        schema_editor.execute("PRAGMA legacy_alter_table=ON")  # else views that somebody added would name this table
        schema_editor.execute('ALTER TABLE "transcript_events" RENAME TO "transcript_events_before"')
        schema_editor.execute("PRAGMA legacy_alter_table=OFF")
        schema_editor.create_model(event)
        columns = [field.column for field in event._meta.concrete_fields]
        values = [f"i.{name}" if name in MOVED else f"e.{name}" for name in columns]
        values[columns.index("event_type")] = "COALESCE(i.event_type, '')"
        schema_editor.execute(
            f'INSERT OR IGNORE INTO "transcript_events" (rowid, {", ".join(columns)}) SELECT e.rowid, {", ".join(values)}'
            ' FROM "transcript_events_before" e LEFT JOIN "transcript_event_identities" i'
            ' ON i.session_id = e.session_id AND i.seq = e.seq ORDER BY e.rowid'
        )
        schema_editor.execute('DROP TABLE "transcript_events_before"')
        schema_editor.execute('DROP TABLE "transcript_event_identities"')
        for statement in schema_editor.deferred_sql:  # Django would note the migration in a transaction of its own
            schema_editor.execute(statement, None)
        schema_editor.deferred_sql.clear()
    schema_editor.execute(IDENTITIES)


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0005_39276530'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # The function below writes the rows anew, once, with the short columns before the long ones.
            state_operations=[
                migrations.RemoveField(model_name='transcripteventidentity', name='session'),
                migrations.DeleteModel(name='TranscriptEventIdentity'),
                migrations.DeleteModel(name='TranscriptEvent'),
                migrations.CreateModel(
                    name='TranscriptEvent',
                    fields=[
                        ('pk', models.CompositePrimaryKey('session_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='ledger.session')),
                        ('seq', openclaw_web.sqlite.fields.Count()),
                        ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                        ('event_id', models.TextField(null=True)),
                        ('event_type', models.TextField(db_default='', default='')),
                        ('parent_id', models.TextField(null=True)),
                        ('message_idempotency_key', models.TextField(null=True)),
                        ('kind', models.TextField(choices=[('session', 'Session'), ('user', 'User'), ('assistant', 'Assistant'), ('tool_result', 'Tool Result'), ('compaction', 'Compaction'), ('branch_summary', 'Branch Summary'), ('model_change', 'Model Change'), ('thinking_level_change', 'Thinking Level Change'), ('custom', 'Custom'), ('custom_message', 'Custom Message'), ('label', 'Label'), ('session_info', 'Session Info'), ('reset', 'Reset'), ('leaf', 'Leaf'), ('usage', 'Usage'), ('message', 'message with another role'), ('withheld', 'not kept: the sender opted out'), ('unknown', 'a type this version does not know, kept raw')])),
                        ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                        ('is_active', models.BooleanField(default=True)),
                        ('is_failed', models.BooleanField(default=False)),
                        ('is_synthetic', models.BooleanField(default=False)),
                        ('model', models.TextField(null=True)),
                        ('tool_name', models.TextField(null=True)),
                        ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                        ('input_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                        ('output_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                        ('cache_read_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                        ('cache_write_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                        ('total_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                        ('cost_usd', models.FloatField(null=True)),
                        ('repeat_of', models.TextField(null=True)),
                        ('trim_json', models.TextField(null=True)),
                        ('event_json', models.TextField()),
                        ('full_zstd', models.BinaryField(null=True)),
                    ],
                    options={
                        'db_table': 'transcript_events',
                        'indexes': [
                            models.Index(condition=models.Q(('is_active', False)), fields=['session_id', 'seq'], name='idx_event_aside'),
                            models.Index(condition=models.Q(('repeat_of__isnull', False)), fields=['session_id', 'seq'], name='idx_event_repeat'),
                            models.Index(fields=['created_at'], name='idx_event_created'),
                            models.Index(condition=models.Q(('event_type', 'reset'), ('parent_id__isnull', True), _connector='OR'), fields=['session_id', 'seq'], name='idx_event_begin'),
                        ],
                        'constraints': [models.UniqueConstraint(fields=('session', 'event_id'), name='idx_event_id')],
                    },
                ),
            ],
        ),
        migrations.RunPython(move_identities, migrations.RunPython.noop, elidable=False),
    ]
