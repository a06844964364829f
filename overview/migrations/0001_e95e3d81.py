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
                ('cost_usd', models.FloatField(help_text='as of a day', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('rejected_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('unknown_envelope_count', openclaw_web.sqlite.fields.Count(default=0, help_text='records with an envelope that is not understood')),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('last_collected_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('has_repeats', models.BooleanField(default=False, help_text='some records are repeated from another session')),
            ],
            options={
                'db_table': 'agent_summaries',
            },
        ),
        migrations.CreateModel(
            name='SiteSpan',
            fields=[
                ('span', models.TextField(help_text='YYYY-MM-DD or YYYY-MM-DDTHH', primary_key=True, serialize=False)),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0, help_text='of sessions that were removed because of their age')),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='the same')),
                ('latency_json', models.TextField(db_default='', default='', help_text='bucket -> turns (overview.latency); empty: nobody counted')),
                ('models_json', models.TextField(db_default='', default='', help_text='model -> cost and unpriced tokens; empty: nobody counted')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='as of a day of an agent', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('written_count', openclaw_web.sqlite.fields.Count(default=0, help_text='that are in force')),
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
                ('cost_usd', models.FloatField(help_text='of the calls whose cost is known; null: of none it is', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='tokens of calls whose cost is not known')),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0, help_text='of sessions that were removed because of their age')),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='the same')),
                ('latency_json', models.TextField(db_default='', default='', help_text='bucket -> turns (overview.latency); empty: nobody counted')),
                ('models_json', models.TextField(db_default='', default='', help_text='model -> cost and unpriced tokens; empty: nobody counted')),
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
                ('span', models.TextField(help_text='YYYY-MM-DDTHH')),
                ('removed_turn_count', openclaw_web.sqlite.fields.Count(default=0, help_text='of sessions that were removed because of their age')),
                ('removed_error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='the same')),
                ('latency_json', models.TextField(db_default='', default='', help_text='bucket -> turns (overview.latency); empty: nobody counted')),
                ('models_json', models.TextField(db_default='', default='', help_text='model -> cost and unpriced tokens; empty: nobody counted')),
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
                ('span', models.TextField(help_text='YYYY-MM-DD or YYYY-MM-DDTHH')),
                ('written_count', openclaw_web.sqlite.fields.Count(default=0, help_text='that are in force')),
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
                ('id', models.TextField(help_text='<agent>/<file>', primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('file_name', models.TextField()),
                ('state', models.TextField()),
                ('rank', openclaw_web.sqlite.fields.Count(help_text='the worst state is 0')),
                ('raw_chars', openclaw_web.sqlite.fields.Count(null=True)),
                ('injected_chars', openclaw_web.sqlite.fields.Count(null=True)),
                ('lost_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('since', openclaw_web.sqlite.fields.EpochMs(help_text='when OpenClaw saw the write that its record names', null=True)),
                ('session_id', models.TextField(default='')),
                ('session_key', models.TextField(default='')),
                ('record_hash', models.TextField(default='')),
                ('record_class', models.TextField(default='')),
                ('is_equal', models.BooleanField(help_text='whether the file has the recorded hash; null: no record', null=True)),
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
                ('words', models.TextField(default='', help_text='how the last reply begins, or what waits for one')),
                ('speaker', models.TextField(default='', help_text='who asked last')),
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
                ('author', models.TextField(default='', help_text='who rolled back, whose message it came from, or what wrote it')),
                ('lines_json', models.TextField(default='[]', help_text='pairs of + or - and the beginning of the line')),
            ],
            options={
                'db_table': 'newest_writes',
                'indexes': [models.Index(fields=['created_at'], name='idx_newest_write_time')],
            },
        ),
    ]
