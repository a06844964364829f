import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('agent_id', models.TextField(primary_key=True, serialize=False)),
                ('config_fingerprint', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs()),
                ('agent_db_path', models.TextField()),
                ('home_name', models.TextField(default='')),
                ('workspace', models.TextField(blank=True, default='')),
                ('reported_workspace', models.TextField(blank=True, default='')),
                ('workspace_reported_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('reset_left_out_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('deleted_left_out_count', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'agents',
            },
        ),
        migrations.CreateModel(
            name='CollectedSession',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'session_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('session_id', models.TextField()),
                ('kind_counts', models.TextField(default='{}')),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('id_checksum', models.TextField(db_default='', default='')),
                ('removed_why', models.TextField(blank=True, choices=[('retention', 'Retention'), ('archive', 'Archive'), ('undone', 'Undone'), ('opted_out', 'Opted Out')], default='')),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'collector_sessions',
            },
        ),
        migrations.CreateModel(
            name='ReaderState',
            fields=[
                ('source_key', models.TextField(primary_key=True, serialize=False)),
                ('how', models.TextField()),
                ('state_zstd', models.BinaryField()),
            ],
            options={
                'db_table': 'collector_reader_states',
            },
        ),
        migrations.CreateModel(
            name='AgentDatabase',
            fields=[
                ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='database', serialize=False, to='agents.agent')),
                ('path', models.TextField()),
                ('schema_version', openclaw_web.sqlite.fields.Count()),
                ('last_seen_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('size_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'agent_databases',
            },
        ),
        migrations.CreateModel(
            name='CollectorSource',
            fields=[
                ('source_key', models.TextField(primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('agent', 'Agent'), ('transcript', 'Transcript'), ('session_index', 'Session Index'), ('cron_jobs', 'Cron Jobs'), ('cron_runs', 'Cron Runs'), ('subagent_runs', 'Subagent Runs'), ('workspace_file', 'Workspace File'), ('database', 'Database'), ('artifact', 'Artifact'), ('reflection_log', 'Reflection Log'), ('guardian_log', 'Guardian Log'), ('guardian_writes', 'Guardian Writes')])),
                ('root', models.TextField()),
                ('path', models.TextField()),
                ('agent_id', models.TextField(default='')),
                ('inode', openclaw_web.sqlite.fields.Count(default=0)),
                ('size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
                ('byte_offset', openclaw_web.sqlite.fields.Count(default=0)),
                ('head_sha256', models.TextField(default='')),
                ('head_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('tail_sha256', models.TextField(db_default='', default='')),
                ('last_read_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('session_id', models.TextField(db_default='', default='')),
                ('is_named', models.BooleanField(db_default=False, default=False, help_text='an index names the file as the transcript of its session')),
            ],
            options={
                'db_table': 'collector_sources',
                'indexes': [models.Index(fields=['root', 'kind'], name='idx_collector_root_kind')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'agent')), fields=('agent_id',), name='one_source_claims_an_agent')],
            },
        ),
        migrations.CreateModel(
            name='SkippedSource',
            fields=[
                ('source_key', models.TextField(primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('file', 'File'), ('folder', 'Folder'), ('index_entry', 'Index Entry')])),
                ('root', models.TextField()),
                ('agent_id', models.TextField()),
                ('path', models.TextField()),
                ('session_id', models.TextField(default='')),
                ('reason', models.TextField(choices=[('not_transcript', 'neither a session header nor a record'), ('checkpoint', 'repeats records of its transcript'), ('deleted', 'transcript of a deleted session'), ('reset', 'transcript before a reset'), ('bak', 'copy of a transcript'), ('imported', 'transcript that OpenClaw moved into its database'), ('cold', "archive of OpenClaw's database"), ('opted_out', 'conversation with somebody who opted out'), ('unnamed', 'participants not known while somebody is opted out'), ('removed', 'session that was removed or archived here'), ('undone', 'session whose import was undone'), ('lock', 'lock'), ('temporary', 'temporary file'), ('trajectory', 'pointer to a trajectory'), ('index', 'copy of a session index'), ('skills_prompt', 'text of a skill'), ('database', 'part of a database'), ('secret', 'may hold a secret'), ('not_listed', 'not among what is read'), ('link', 'link'), ('unreadable', 'cannot be opened'), ('odd_name', 'name that is no text'), ('too_many', 'beyond the number of files that is looked at'), ('failed', 'reading failed; the next import tries again'), ('other_agent', 'transcript of another agent'), ('unusable', 'entry without a usable session id'), ('empty', 'transcript without a record'), ('no_records', 'nothing holds its records')])),
                ('detail', models.TextField(default='')),
                ('size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
                ('inode', openclaw_web.sqlite.fields.Count(default=0)),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'collector_skipped',
                'indexes': [models.Index(fields=['path', 'source_key'], name='idx_skipped_path'), models.Index(fields=['agent_id', 'path', 'source_key'], name='idx_skipped_agent'), models.Index(fields=['reason', 'path', 'source_key'], name='idx_skipped_reason'), models.Index(fields=['kind', 'path', 'source_key'], name='idx_skipped_kind')],
            },
        ),
    ]
