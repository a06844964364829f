import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Finding',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('source', models.TextField(choices=[('record', 'Record'), ('decision', 'Decision'), ('write', 'Write'), ('snapshot', 'Snapshot'), ('file', 'File'), ('correction', 'Correction'), ('prompt', 'Prompt'), ('instruction', 'Instruction'), ('artifact', 'Artifact')])),
                ('source_id', models.TextField()),
                ('session_id', models.TextField(null=True)),
                ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                ('path', models.TextField()),
                ('start', openclaw_web.sqlite.fields.Count()),
                ('end', openclaw_web.sqlite.fields.Count()),
                ('kind', models.TextField()),
                ('rule', models.TextField()),
                ('confidence', models.FloatField()),
                ('value_hash', models.TextField()),
                ('state', models.TextField(choices=[('open', 'Open'), ('confirmed', 'Confirmed'), ('dismissed', 'Dismissed'), ('added', 'Added')], default='open')),
                ('found_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'findings',
                'indexes': [models.Index(fields=['value_hash', 'id'], name='idx_finding_value'), models.Index(fields=['session_id', 'turn_number', 'id'], name='idx_finding_turn'), models.Index(fields=['rule', 'id'], name='idx_finding_rule')],
                'constraints': [models.UniqueConstraint(fields=('source', 'source_id', 'path', 'start', 'end'), name='idx_finding_place')],
            },
        ),
        migrations.CreateModel(
            name='FindingScan',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('source', models.TextField(choices=[('record', 'Record'), ('decision', 'Decision'), ('write', 'Write'), ('snapshot', 'Snapshot'), ('file', 'File'), ('correction', 'Correction'), ('prompt', 'Prompt'), ('instruction', 'Instruction'), ('artifact', 'Artifact')])),
                ('session_id', models.TextField(default='')),
                ('position', models.TextField()),
                ('fingerprint', models.TextField(default='')),
                ('rules', openclaw_web.sqlite.fields.Count()),
                ('scanned_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'finding_scans',
                'constraints': [models.UniqueConstraint(fields=('source', 'session_id'), name='idx_scan_source')],
            },
        ),
    ]
