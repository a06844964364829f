import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='ProblemCheck',
            fields=[
                ('place', models.TextField(primary_key=True, serialize=False)),
                ('state', models.TextField(default='')),
                ('checked_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'problem_checks',
            },
        ),
        migrations.CreateModel(
            name='Problem',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('kind', models.TextField()),
                ('subject', models.TextField(default='')),
                ('agent_id', models.TextField(default='')),
                ('severity', openclaw_web.sqlite.fields.Count()),
                ('level', openclaw_web.sqlite.fields.Count(default=0)),
                ('is_counted', models.BooleanField(default=True)),
                ('detail_json', models.TextField(default='{}')),
                ('state', models.TextField(choices=[('open', 'Open'), ('muted', 'Muted'), ('closed', 'Closed')], default='open')),
                ('is_found', models.BooleanField(default=True)),
                ('since_at', openclaw_web.sqlite.fields.EpochMs()),
                ('opened_at', openclaw_web.sqlite.fields.EpochMs()),
                ('last_seen_at', openclaw_web.sqlite.fields.EpochMs()),
                ('reopened_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('seen_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('seen_by', models.TextField(default='')),
                ('muted_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('muted_by', models.TextField(default='')),
                ('mute_reason', models.TextField(default='')),
                ('closed_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('closed_by', models.TextField(default='')),
                ('settled_level', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'problems',
                'indexes': [models.Index(fields=['severity', 'since_at', 'id'], name='idx_problem_severity'), models.Index(fields=['state', 'severity', 'since_at', 'id'], name='idx_problem_state'), models.Index(fields=['kind', 'severity', 'since_at', 'id'], name='idx_problem_kind'), models.Index(fields=['agent_id', 'severity', 'since_at', 'id'], name='idx_problem_agent'), models.Index(fields=['since_at', 'id'], name='idx_problem_since'), models.Index(condition=models.Q(('state', 'closed')), fields=['closed_at'], name='idx_problem_closed'), models.Index(condition=models.Q(('is_found', True)), fields=['id'], name='idx_problem_found')],
            },
        ),
    ]
