import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0010_fb87b96f'),
    ]

    operations = [
        migrations.CreateModel(
            name='SignalPosition',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('session_id', models.TextField()),
                ('position', models.TextField()),
                ('rules', openclaw_web.sqlite.fields.Count()),
                ('consent', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'signal_positions',
                'constraints': [models.UniqueConstraint(fields=('agent_id', 'session_id'), name='idx_signal_position')],
            },
        ),
        migrations.CreateModel(
            name='TurnSignals',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('turn_id', models.TextField()),
                ('session_id', models.TextField()),
                ('turn_number', openclaw_web.sqlite.fields.Count()),
                ('at', openclaw_web.sqlite.fields.EpochMs()),
                ('yes', openclaw_web.sqlite.fields.Count()),
                ('unknown', openclaw_web.sqlite.fields.Count()),
                ('waiting', openclaw_web.sqlite.fields.Count(default=0)),
                ('score', models.FloatField(null=True)),
                ('rule', openclaw_web.sqlite.fields.Count()),
                ('mark', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'turn_signals',
                'indexes': [models.Index(fields=['agent_id', 'session_id', 'turn_number'], name='idx_signals_place')],
                'constraints': [models.UniqueConstraint(fields=('agent_id', 'turn_id'), name='idx_turn_signals')],
            },
        ),
    ]
