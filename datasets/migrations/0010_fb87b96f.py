import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0009_7c8a74cc'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScoreCall',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('sample_id', models.TextField()),
                ('llm_model', models.TextField()),
                ('prompt_version', models.TextField()),
                ('attempt', openclaw_web.sqlite.fields.Count(default=1)),
                ('outcome', models.TextField(choices=[('scored', 'Scored'), ('sent', 'Sent'), ('failed', 'Failed'), ('malformed', 'Malformed')])),
                ('failure', models.TextField(default='')),
                ('score', models.FloatField(null=True)),
                ('reason', models.TextField(default='')),
                ('llm_latency_ms', openclaw_web.sqlite.fields.Count(null=True)),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('completion_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('reserved_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'sample_score_calls',
                'indexes': [models.Index(fields=['created_at'], name='idx_score_call_created'), models.Index(fields=['sample_id', 'llm_model', 'prompt_version'], name='idx_score_call_sample')],
            },
        ),
    ]
