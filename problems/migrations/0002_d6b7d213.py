import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('problems', '0001_1a4c4136'),
    ]

    operations = [
        migrations.AddField(
            model_name='problem',
            name='muted_until',
            field=openclaw_web.sqlite.fields.EpochMs(null=True),
        ),
        migrations.CreateModel(
            name='ErrorDay',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'group_id', 'date', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('group_id', models.TextField()),
                ('date', models.TextField()),
                ('count', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'error_days',
                'indexes': [models.Index(fields=['group_id', 'date'], name='idx_error_day_group'), models.Index(fields=['date'], name='idx_error_day')],
            },
        ),
        migrations.CreateModel(
            name='ErrorGroup',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('tool', models.TextField(default='')),
                ('model', models.TextField(default='')),
                ('message', models.TextField()),
                ('is_new', models.BooleanField(default=False)),
                ('state', models.TextField(choices=[('open', 'Open'), ('muted', 'Muted'), ('closed', 'Closed')], default='open')),
                ('opened_at', openclaw_web.sqlite.fields.EpochMs()),
                ('reopened_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('seen_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('seen_by', models.TextField(default='')),
                ('muted_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('muted_by', models.TextField(default='')),
                ('muted_until', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('mute_reason', models.TextField(default='')),
                ('closed_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('closed_by', models.TextField(default='')),
                ('count', openclaw_web.sqlite.fields.Count(default=0)),
                ('session_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('agent_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('first_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
                ('last_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
            ],
            options={
                'db_table': 'error_groups',
                'indexes': [models.Index(fields=['last_at', 'id'], name='idx_error_last'), models.Index(fields=['count', 'id'], name='idx_error_count')],
            },
        ),
        migrations.CreateModel(
            name='ErrorSum',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'group_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sums', to='problems.errorgroup')),
                ('count', openclaw_web.sqlite.fields.Count()),
                ('session_count', openclaw_web.sqlite.fields.Count()),
                ('first_at', openclaw_web.sqlite.fields.EpochMs()),
                ('last_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'error_sums',
                'indexes': [models.Index(fields=['group', 'agent_id'], name='idx_error_sum_group'), models.Index(fields=['agent_id', 'last_at', 'group'], name='idx_error_sum_last'), models.Index(fields=['agent_id', 'count', 'group'], name='idx_error_sum_count')],
            },
        ),
    ]
