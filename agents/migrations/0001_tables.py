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
                ('removed_why', models.TextField(blank=True, choices=[('retention', 'Retention'), ('archive', 'Archive'), ('undone', 'Undone'), ('opted_out', 'Opted Out')], default='', help_text='empty: it has to be there')),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'collector_sessions',
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
                ('kind', models.TextField(choices=[('agent', 'Agent'), ('transcript', 'Transcript'), ('session_index', 'Session Index'), ('cron_jobs', 'Cron Jobs'), ('cron_runs', 'Cron Runs'), ('subagent_runs', 'Subagent Runs'), ('workspace_file', 'Workspace File'), ('database', 'Database'), ('artifact', 'Artifact')])),
                ('root', models.TextField(help_text='the OpenClaw home')),
                ('path', models.TextField(help_text='relative to the root, or absolute for a workspace elsewhere')),
                ('agent_id', models.TextField(default='')),
                ('inode', openclaw_web.sqlite.fields.Count(default=0)),
                ('size_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('mtime_ns', openclaw_web.sqlite.fields.Count(default=0)),
                ('byte_offset', openclaw_web.sqlite.fields.Count(default=0, help_text='everything before it is in the store')),
                ('head_sha256', models.TextField(default='', help_text='fingerprint of the first bytes before the offset')),
                ('head_bytes', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_read_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('tail_sha256', models.TextField(db_default='', default='', help_text='fingerprint of the last bytes before the offset; empty: not known')),
            ],
            options={
                'db_table': 'collector_sources',
                'indexes': [models.Index(fields=['root', 'kind'], name='idx_collector_root_kind')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'agent')), fields=('agent_id',), name='one_source_claims_an_agent')],
            },
        ),
    ]
