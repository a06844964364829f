import datasets.fields
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0012_f2066cb5'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApprovalStop',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('reason', datasets.fields.OneOf(choices=[('wrong', 'Wrong'), ('uncertain', 'Uncertain'), ('waiting', 'Waiting')])),
                ('stopped_at', openclaw_web.sqlite.fields.EpochMs()),
                ('right', openclaw_web.sqlite.fields.Count()),
                ('wrong', openclaw_web.sqlite.fields.Count()),
                ('waiting', openclaw_web.sqlite.fields.Count()),
                ('returned_json', models.TextField(default='[]')),
                ('undone_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('resumed_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('resumed_by', models.TextField(default='')),
            ],
            options={
                'db_table': 'approval_stops',
            },
        ),
        migrations.CreateModel(
            name='SpotCheck',
            fields=[
                ('sample_id', models.TextField(primary_key=True, serialize=False)),
                ('chosen_at', openclaw_web.sqlite.fields.EpochMs()),
                ('shape_hash', models.TextField()),
            ],
            options={
                'db_table': 'spot_checks',
                'indexes': [models.Index(fields=['chosen_at'], name='idx_spot_check_chosen')],
            },
        ),
    ]
