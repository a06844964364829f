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
                ('id', models.TextField(help_text='made of the handle and the place: stashed twice, it is one row', primary_key=True, serialize=False)),
                ('handle', models.TextField(help_text='ocm_artifact:v1:sha256:<64 hexadecimal digits>')),
                ('kind', models.TextField(default='tool_output')),
                ('bytes', openclaw_web.sqlite.fields.Count()),
                ('stored_bytes', openclaw_web.sqlite.fields.Count()),
                ('chars', openclaw_web.sqlite.fields.Count(help_text='of UTF-8, bad bytes replaced')),
                ('lines', openclaw_web.sqlite.fields.Count()),
                ('content_type', models.TextField()),
                ('is_compressed', openclaw_web.sqlite.fields.SpecBoolean(default=False)),
                ('preview', models.TextField(default='', help_text='both ends, short; of a binary content, its first bytes')),
                ('summary', models.TextField(default='', help_text='one line, made without a model')),
                ('secret_kinds', models.TextField(default='[]', help_text='JSON list of names from artifacts.contents.secrets')),
                ('session_id', models.TextField(null=True)),
                ('turn_id', models.TextField(null=True)),
                ('record_id', models.TextField(null=True)),
                ('tool', models.TextField(null=True)),
                ('tool_call_id', models.TextField(null=True)),
                ('meta_json', models.TextField(default='{}', help_text='what whoever stashed it said of it; never content')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'artifacts',
                'indexes': [models.Index(fields=['handle', 'created_at', 'id'], name='idx_artifacts_uses'), models.Index(fields=['session_id', 'record_id'], name='idx_artifacts_place'), models.Index(fields=['created_at', 'id'], name='idx_artifacts_time'), models.Index(fields=['bytes', 'id'], name='idx_artifacts_size'), models.Index(fields=['session_id', 'created_at', 'id'], name='idx_artifacts_session'), models.Index(fields=['session_id', 'bytes', 'id'], name='idx_artifacts_session_size'), models.Index(condition=models.Q(('record_id__isnull', False)), fields=['session_id', 'chars', 'handle'], name='idx_artifacts_largest')],
            },
        ),
    ]
