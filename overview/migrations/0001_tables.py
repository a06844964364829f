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
                ('cost_usd', models.FloatField(default=0)),
                ('rejected_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('last_collected_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('unknown_envelope_count', openclaw_web.sqlite.fields.Count(default=0, help_text='records with an envelope that is not understood')),
            ],
            options={
                'db_table': 'agent_summaries',
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
                ('cost_usd', models.FloatField(default=0)),
            ],
            options={
                'db_table': 'agent_daily_stats',
                'indexes': [models.Index(fields=['date'], name='idx_agent_daily_date')],
            },
        ),
    ]
