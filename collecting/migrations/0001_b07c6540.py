import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='MigrationRun',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('started_at', openclaw_web.sqlite.fields.EpochMs()),
                ('finished_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('status', models.TextField(choices=[('running', 'Running'), ('completed', 'Completed'), ('warning', 'Completed with warnings'), ('failed', 'Failed'), ('undone', 'Undone')], default='running')),
                ('report_json', models.TextField(default='{}')),
                ('root', models.TextField(default='')),
                ('made_by', models.TextField(default='')),
                ('message', models.TextField(default='')),
                ('before_json', models.TextField(default='{}')),
            ],
            options={
                'db_table': 'migration_runs',
                'indexes': [models.Index(fields=['started_at', 'id'], name='idx_migration_started')],
            },
        ),
        migrations.CreateModel(
            name='MigrationSource',
            fields=[
                ('source_key', models.TextField(primary_key=True, serialize=False)),
                ('migration_kind', models.TextField()),
                ('source_path', models.TextField()),
                ('target_table', models.TextField()),
                ('source_sha256', models.TextField(default='')),
                ('source_size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('source_record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_run', models.ForeignKey(db_column='last_run_id', on_delete=django.db.models.deletion.CASCADE, related_name='sources', to='collecting.migrationrun')),
                ('status', models.TextField(choices=[('imported', 'Imported'), ('warning', 'Warning'), ('ignored', 'Ignored')])),
                ('imported_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('removed_source', openclaw_web.sqlite.fields.SpecBoolean(default=False)),
                ('report_json', models.TextField(default='{}')),
                ('root', models.TextField(default='')),
                ('agent_id', models.TextField(default='')),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'migration_sources',
                'indexes': [models.Index(fields=['root', 'source_path'], name='idx_migration_source_path'), models.Index(fields=['last_run', 'source_key'], name='idx_migration_run'), models.Index(condition=models.Q(('removed_source', True)), fields=['root'], name='idx_migration_removed'), models.Index(fields=['migration_kind', 'status', 'agent_id', 'source_key'], name='idx_migration_kind')],
            },
        ),
    ]
