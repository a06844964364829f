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
                ('state', models.TextField(default='', help_text='changes when what is checked changes; empty: it is always checked')),
                ('checked_at', openclaw_web.sqlite.fields.EpochMs(help_text='of the site: when a check last got through everything')),
            ],
            options={
                'db_table': 'problem_checks',
            },
        ),
        migrations.CreateModel(
            name='Problem',
            fields=[
                ('id', models.TextField(help_text='made of kind, agent and subject: a problem keeps it for ever', primary_key=True, serialize=False)),
                ('kind', models.TextField(help_text='its name in the setting PROBLEM_KINDS')),
                ('subject', models.TextField(default='', help_text='what it is about: a file, a rule, a scheduled task')),
                ('agent_id', models.TextField(default='', help_text='empty: it is about no agent')),
                ('severity', openclaw_web.sqlite.fields.Count(help_text='the worst has the highest number')),
                ('level', openclaw_web.sqlite.fields.Count(default=0, help_text='how bad it is within its kind: a muted problem opens again when this rises')),
                ('is_counted', models.BooleanField(default=True, help_text='whether the number beside System counts it')),
                ('detail_json', models.TextField(default='{}', help_text='facts: numbers, ids and names, never a sentence')),
                ('state', models.TextField(choices=[('open', 'Open'), ('muted', 'Muted'), ('closed', 'Closed')], default='open')),
                ('is_found', models.BooleanField(default=True, help_text='whether the last check found it')),
                ('since_at', openclaw_web.sqlite.fields.EpochMs(help_text='when it began, as far as known; else when it was found')),
                ('opened_at', openclaw_web.sqlite.fields.EpochMs(help_text='when it was opened last')),
                ('last_seen_at', openclaw_web.sqlite.fields.EpochMs(help_text='the last check that found it')),
                ('reopened_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('seen_at', openclaw_web.sqlite.fields.EpochMs(help_text='when a person marked it as seen', null=True)),
                ('seen_by', models.TextField(default='')),
                ('muted_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('muted_by', models.TextField(default='')),
                ('mute_reason', models.TextField(default='')),
                ('closed_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('closed_by', models.TextField(default='', help_text='empty: a check did not find it any more')),
                ('settled_level', openclaw_web.sqlite.fields.Count(default=0, help_text='its level when a person muted or closed it')),
            ],
            options={
                'db_table': 'problems',
                'indexes': [models.Index(fields=['severity', 'since_at', 'id'], name='idx_problem_severity'), models.Index(fields=['state', 'severity', 'since_at', 'id'], name='idx_problem_state'), models.Index(fields=['kind', 'severity', 'since_at', 'id'], name='idx_problem_kind'), models.Index(fields=['agent_id', 'severity', 'since_at', 'id'], name='idx_problem_agent'), models.Index(fields=['since_at', 'id'], name='idx_problem_since'), models.Index(condition=models.Q(('state', 'closed')), fields=['closed_at'], name='idx_problem_closed'), models.Index(condition=models.Q(('is_found', True)), fields=['id'], name='idx_problem_found')],
            },
        ),
    ]
