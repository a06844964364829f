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
                ('report_json', models.TextField(default='{}', help_text='the receipt; names the backup that was made before')),
                ('root', models.TextField(default='', help_text='the OpenClaw home')),
                ('made_by', models.TextField(default='')),
                ('message', models.TextField(default='', help_text='the sentence it ended with')),
                ('before_json', models.TextField(default='{}', help_text='sessions by agent that were there before it began')),
            ],
            options={
                'db_table': 'migration_runs',
                'indexes': [models.Index(fields=['started_at', 'id'], name='idx_migration_started')],
            },
        ),
        migrations.CreateModel(
            name='MigrationSource',
            fields=[
                ('source_key', models.TextField(help_text='sha256 of home, path, modification time, size, hash and target', primary_key=True, serialize=False)),
                ('migration_kind', models.TextField(help_text='transcript, session_index, database, cron_jobs, ...')),
                ('source_path', models.TextField(help_text='relative to the home, or absolute for a workspace elsewhere')),
                ('target_table', models.TextField()),
                ('source_sha256', models.TextField(default='', help_text='empty: it could not be read')),
                ('source_size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('source_record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_run', models.ForeignKey(db_column='last_run_id', on_delete=django.db.models.deletion.CASCADE, related_name='sources', to='collecting.migrationrun')),
                ('status', models.TextField(choices=[('imported', 'Imported'), ('warning', 'Warning'), ('ignored', 'Ignored')])),
                ('imported_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('removed_source', openclaw_web.sqlite.fields.SpecBoolean(default=False)),
                ('report_json', models.TextField(default='{}', help_text='why it is a warning, tables left alone, ignored sessions')),
                ('root', models.TextField(default='', help_text='the OpenClaw home')),
                ('agent_id', models.TextField(default='')),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'migration_sources',
                'indexes': [models.Index(fields=['root', 'source_path'], name='idx_migration_source_path'), models.Index(fields=['last_run', 'source_key'], name='idx_migration_run'), models.Index(condition=models.Q(('removed_source', True)), fields=['root'], name='idx_migration_removed'), models.Index(fields=['migration_kind', 'status', 'agent_id', 'source_key'], name='idx_migration_kind')],
            },
        ),
    ]
