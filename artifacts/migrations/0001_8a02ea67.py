import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('handle', models.TextField()),
                ('kind', models.TextField(default='tool_output')),
                ('bytes', openclaw_web.sqlite.fields.Count()),
                ('stored_bytes', openclaw_web.sqlite.fields.Count()),
                ('chars', openclaw_web.sqlite.fields.Count()),
                ('lines', openclaw_web.sqlite.fields.Count()),
                ('content_type', models.TextField()),
                ('is_compressed', openclaw_web.sqlite.fields.SpecBoolean(default=False)),
                ('preview', models.TextField(default='')),
                ('summary', models.TextField(default='')),
                ('secret_kinds', models.TextField(default='[]')),
                ('session_id', models.TextField(null=True)),
                ('turn_id', models.TextField(null=True)),
                ('record_id', models.TextField(null=True)),
                ('tool', models.TextField(null=True)),
                ('tool_call_id', models.TextField(null=True)),
                ('meta_json', models.TextField(default='{}')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'artifacts',
                'indexes': [models.Index(fields=['handle', 'created_at', 'id'], name='idx_artifacts_uses'), models.Index(fields=['session_id', 'record_id'], name='idx_artifacts_place'), models.Index(fields=['created_at', 'id'], name='idx_artifacts_time'), models.Index(fields=['bytes', 'id'], name='idx_artifacts_size'), models.Index(fields=['session_id', 'created_at', 'id'], name='idx_artifacts_session'), models.Index(fields=['session_id', 'bytes', 'id'], name='idx_artifacts_session_size'), models.Index(condition=models.Q(('record_id__isnull', False)), fields=['session_id', 'chars', 'handle'], name='idx_artifacts_largest')],
            },
        ),
    ]
