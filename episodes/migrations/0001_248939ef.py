import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='EpisodeCapture',
            fields=[
                ('id', openclaw_web.sqlite.fields.Count(primary_key=True, serialize=False)),
                ('is_on', models.BooleanField(default=False)),
                ('scope', models.TextField(null=True)),
                ('allows_tool_output', models.BooleanField(default=False)),
                ('positions_json', models.TextField(default='{}')),
                ('changed_by', models.TextField(default='')),
                ('changed_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
            ],
            options={
                'db_table': 'episode_captures',
            },
        ),
        migrations.CreateModel(
            name='EpisodeGap',
            fields=[
                ('first_id', openclaw_web.sqlite.fields.Count(primary_key=True, serialize=False)),
                ('last_id', openclaw_web.sqlite.fields.Count(unique=True)),
                ('count', openclaw_web.sqlite.fields.Count()),
                ('chain_before', models.BinaryField()),
                ('chain_after', models.BinaryField()),
            ],
            options={
                'db_table': 'episode_gaps',
            },
        ),
        migrations.CreateModel(
            name='EpisodeHead',
            fields=[
                ('last_id', openclaw_web.sqlite.fields.Count(primary_key=True, serialize=False)),
                ('chain_hash', models.BinaryField()),
                ('destination', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'episode_heads',
            },
        ),
        migrations.CreateModel(
            name='EpisodePolicy',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('scope', models.TextField()),
                ('type', models.TextField(choices=[('conversation.assistant', 'Conversation Assistant'), ('conversation.user', 'Conversation User'), ('ops.alert', 'Ops Alert'), ('ops.decision', 'Ops Decision'), ('ops.observation', 'Ops Observation'), ('tool.call', 'Tool Call'), ('tool.result', 'Tool Result')])),
                ('days', openclaw_web.sqlite.fields.Count(null=True)),
                ('changed_by', models.TextField()),
                ('changed_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'episode_policies',
                'constraints': [models.UniqueConstraint(fields=('scope', 'type'), name='uq_episode_policy')],
            },
        ),
        migrations.CreateModel(
            name='EpisodeRun',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('run_id', models.TextField()),
                ('scope', models.TextField()),
                ('type', models.TextField()),
                ('before_ms', openclaw_web.sqlite.fields.EpochMs()),
                ('removed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('is_open', models.BooleanField(default=True)),
                ('started_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'episode_runs',
                'indexes': [models.Index(fields=['scope', 'type', 'is_open'], name='idx_episode_run_open')],
            },
        ),
        migrations.CreateModel(
            name='EpisodicEvent',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('event_id', models.TextField()),
                ('ts_ms', openclaw_web.sqlite.fields.EpochMs()),
                ('scope', models.TextField()),
                ('session_id', models.TextField()),
                ('agent_id', models.TextField()),
                ('type', models.TextField(choices=[('conversation.assistant', 'Conversation Assistant'), ('conversation.user', 'Conversation User'), ('ops.alert', 'Ops Alert'), ('ops.decision', 'Ops Decision'), ('ops.observation', 'Ops Observation'), ('tool.call', 'Tool Call'), ('tool.result', 'Tool Result')])),
                ('summary', models.TextField()),
                ('payload_json', models.TextField(null=True)),
                ('refs_json', models.TextField(null=True)),
                ('redacted', openclaw_web.sqlite.fields.Count(db_default=0, default=0)),
                ('schema_version', models.TextField()),
                ('created_at', models.TextField()),
                ('salt', models.BinaryField(null=True)),
                ('content_hash', models.BinaryField()),
                ('chain_hash', models.BinaryField()),
            ],
            options={
                'db_table': 'episodic_events',
                'indexes': [models.Index(fields=['scope', 'ts_ms'], name='idx_episodic_scope_ts'), models.Index(fields=['session_id', 'ts_ms'], name='idx_episodic_session_ts'), models.Index(fields=['scope', 'type', 'ts_ms'], name='idx_episodic_scope_type_ts')],
                'constraints': [models.UniqueConstraint(models.F('event_id'), name='uq_episodic_event_id')],
            },
        ),
    ]
