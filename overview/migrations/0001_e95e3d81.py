import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AgentSummary',
            fields=[
                ('agent_id', models.TextField(primary_key=True, serialize=False)),
                ('session_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('rejected_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('unknown_envelope_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('last_collected_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('has_repeats', models.BooleanField(default=False)),
            ],
            options={
                'db_table': 'agent_summaries',
            },
        ),
        migrations.CreateModel(
            name='SiteSpan',
            fields=[
                ('span', models.TextField(primary_key=True, serialize=False)),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('latency_json', models.TextField(db_default='', default='')),
                ('models_json', models.TextField(db_default='', default='')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='as of a day of an agent', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('written_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('rolled_back_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('refused_count', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'site_spans',
            },
        ),
        migrations.CreateModel(
            name='AgentDailyStat',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'date', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('date', models.TextField()),
                ('session_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('latency_json', models.TextField(db_default='', default='')),
                ('models_json', models.TextField(db_default='', default='')),
            ],
            options={
                'db_table': 'agent_daily_stats',
                'indexes': [models.Index(fields=['date'], name='idx_agent_daily_date')],
            },
        ),
        migrations.CreateModel(
            name='AgentHour',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'span', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('span', models.TextField()),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('latency_json', models.TextField(db_default='', default='')),
                ('models_json', models.TextField(db_default='', default='')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='as of a day of an agent', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'agent_hours',
                'indexes': [models.Index(fields=['span'], name='idx_agent_hour_span')],
            },
        ),
        migrations.CreateModel(
            name='MemorySpan',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'span', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('span', models.TextField()),
                ('written_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('rolled_back_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('refused_count', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'memory_spans',
                'indexes': [models.Index(fields=['span'], name='idx_memory_span')],
            },
        ),
        migrations.CreateModel(
            name='MemoryStanding',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('file_name', models.TextField()),
                ('state', models.TextField()),
                ('rank', openclaw_web.sqlite.fields.Count()),
                ('raw_chars', openclaw_web.sqlite.fields.Count(null=True)),
                ('injected_chars', openclaw_web.sqlite.fields.Count(null=True)),
                ('lost_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('since', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('session_id', models.TextField(default='')),
                ('session_key', models.TextField(default='')),
                ('record_hash', models.TextField(default='')),
                ('record_class', models.TextField(default='')),
                ('is_equal', models.BooleanField(null=True)),
                ('reported_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'memory_standings',
                'indexes': [models.Index(fields=['rank', 'id'], name='idx_standing_rank'), models.Index(fields=['agent_id', 'rank', 'id'], name='idx_standing_agent'), models.Index(fields=['file_name', 'rank', 'id'], name='idx_standing_file'), models.Index(fields=['state', 'rank', 'id'], name='idx_standing_state')],
            },
        ),
        migrations.CreateModel(
            name='NewestSession',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'session_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('session_id', models.TextField()),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs()),
                ('title', models.TextField(default='')),
                ('channel_id', models.TextField(default='')),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('has_parents', models.BooleanField(default=False, help_text='it may repeat records of other sessions')),
                ('words', models.TextField(default='')),
                ('speaker', models.TextField(default='')),
            ],
            options={
                'db_table': 'newest_sessions',
                'indexes': [models.Index(fields=['last_activity_at'], name='idx_newest_session_time')],
            },
        ),
        migrations.CreateModel(
            name='NewestWrite',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'audit_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('audit_id', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('file_name', models.TextField(default='')),
                ('author', models.TextField(default='')),
                ('lines_json', models.TextField(default='[]')),
            ],
            options={
                'db_table': 'newest_writes',
                'indexes': [models.Index(fields=['created_at'], name='idx_newest_write_time')],
            },
        ),
    ]
