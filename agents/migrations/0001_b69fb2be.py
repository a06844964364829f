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
                ('workspace', models.TextField(blank=True, default='', help_text='the real path of the workspace that was read last')),
                ('reported_workspace', models.TextField(blank=True, default='', help_text='what the newest report of a prompt names, as it is written there')),
                ('workspace_reported_at', openclaw_web.sqlite.fields.EpochMs(help_text='when that was; 0: no report says so; empty: not known yet', null=True)),
                ('reset_left_out_count', openclaw_web.sqlite.fields.Count(default=0, help_text='reset sessions that the last import did not read')),
                ('deleted_left_out_count', openclaw_web.sqlite.fields.Count(default=0, help_text='the same of deleted sessions')),
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
                ('kind_counts', models.TextField(default='{}', help_text='JSON: kind of record -> how many')),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('id_checksum', models.TextField(db_default='', default='', help_text='of the ids of its records; empty: not known')),
                ('removed_why', models.TextField(blank=True, choices=[('retention', 'Retention'), ('archive', 'Archive'), ('undone', 'Undone'), ('opted_out', 'Opted Out')], default='', help_text='empty: it has to be there')),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'collector_sessions',
            },
        ),
        migrations.CreateModel(
            name='ReaderState',
            fields=[
                ('source_key', models.TextField(help_text='as of collector_sources', primary_key=True, serialize=False)),
                ('how', models.TextField(help_text='how the log was read; read in another way, it is read from its start')),
                ('state_zstd', models.BinaryField(help_text='JSON of the reader, packed')),
            ],
            options={
                'db_table': 'collector_reader_states',
            },
        ),
        migrations.CreateModel(
            name='AgentDatabase',
            fields=[
                ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='database', serialize=False, to='agents.agent')),
                ('path', models.TextField(help_text='relative to the home')),
                ('schema_version', openclaw_web.sqlite.fields.Count()),
                ('last_seen_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('size_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0, help_text='what the file has to hold: the sum of collector_sessions')),
            ],
            options={
                'db_table': 'agent_databases',
            },
        ),
        migrations.CreateModel(
            name='CollectorSource',
            fields=[
                ('source_key', models.TextField(help_text='sha256 of root, kind and path', primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('agent', 'Agent'), ('transcript', 'Transcript'), ('session_index', 'Session Index'), ('cron_jobs', 'Cron Jobs'), ('cron_runs', 'Cron Runs'), ('subagent_runs', 'Subagent Runs'), ('workspace_file', 'Workspace File'), ('database', 'Database'), ('artifact', 'Artifact'), ('reflection_log', 'Reflection Log'), ('guardian_log', 'Guardian Log'), ('guardian_writes', 'Guardian Writes')])),
                ('root', models.TextField(help_text='the OpenClaw home')),
                ('path', models.TextField(help_text='relative to the root, or absolute for a workspace elsewhere')),
                ('agent_id', models.TextField(default='')),
                ('inode', openclaw_web.sqlite.fields.Count(default=0)),
                ('size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
                ('byte_offset', openclaw_web.sqlite.fields.Count(default=0, help_text='everything before it is in the store')),
                ('head_sha256', models.TextField(default='', help_text='fingerprint of the first bytes before the offset')),
                ('head_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('tail_sha256', models.TextField(db_default='', default='', help_text='fingerprint of the last bytes before the offset; empty: none')),
                ('last_read_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('session_id', models.TextField(db_default='', default='', help_text='whose transcript a file was found to be; empty: none, or not known')),
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
                ('source_key', models.TextField(help_text='sha256 of root, kind, agent and path', primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('file', 'File'), ('folder', 'Folder'), ('index_entry', 'Index Entry')])),
                ('root', models.TextField(help_text='the OpenClaw home')),
                ('agent_id', models.TextField()),
                ('path', models.TextField(help_text='as of collector_sources; of an index entry its session key')),
                ('session_id', models.TextField(default='', help_text='whose transcript it is, as far as that is known')),
                ('reason', models.TextField(choices=[('not_transcript', 'neither a session header nor a record'), ('checkpoint', 'repeats records of its transcript'), ('deleted', 'transcript of a deleted session'), ('reset', 'transcript before a reset'), ('bak', 'copy of a transcript'), ('imported', 'transcript that OpenClaw moved into its database'), ('cold', "archive of OpenClaw's database"), ('opted_out', 'conversation with somebody who opted out'), ('unnamed', 'participants not known while somebody is opted out'), ('removed', 'session that was removed or archived here'), ('undone', 'session whose import was undone'), ('lock', 'lock'), ('temporary', 'temporary file'), ('trajectory', 'pointer to a trajectory'), ('index', 'copy of a session index'), ('skills_prompt', 'text of a skill'), ('database', 'part of a database'), ('secret', 'may hold a secret'), ('not_listed', 'not among what is read'), ('link', 'link'), ('unreadable', 'cannot be opened'), ('odd_name', 'name that is no text'), ('too_many', 'beyond the number of files that is looked at'), ('failed', 'reading failed; the next import tries again'), ('other_agent', 'transcript of another agent'), ('unusable', 'entry without a usable session id'), ('empty', 'transcript without a record'), ('no_records', 'nothing holds its records')])),
                ('detail', models.TextField(default='', help_text='the end of a sentence: why it cannot be opened, what it names')),
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
