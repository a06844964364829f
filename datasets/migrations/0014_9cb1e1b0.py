import datasets.fields
import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0013_af14095f'),
    ]

    operations = [
        migrations.CreateModel(
            name='Guideline',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('number', openclaw_web.sqlite.fields.Count()),
                ('text', models.TextField(default='')),
                ('questions_json', models.TextField(default='[]')),
                ('written_by', models.TextField()),
                ('written_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'guidelines',
            },
        ),
        migrations.CreateModel(
            name='QueueItem',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('sample_id', models.TextField()),
                ('state', datasets.fields.OneOf(choices=[('open', 'Open'), ('done', 'Done'), ('conflict', 'Conflict'), ('adjudicated', 'Adjudicated')], default='open')),
                ('value', openclaw_web.sqlite.fields.Count()),
                ('reason', datasets.fields.OneOf(choices=[('conflict', 'Conflict'), ('score', 'Score'), ('rare', 'Rare'), ('twins', 'Twins'), ('new', 'New')])),
                ('sample_created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('twin_group', models.TextField(default='')),
                ('twins_json', models.TextField(default='[]')),
                ('gold_label', models.TextField(null=True)),
            ],
            options={
                'db_table': 'queue_items',
            },
        ),
        migrations.CreateModel(
            name='QueueSeat',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('reviewer', models.TextField()),
                ('since', openclaw_web.sqlite.fields.EpochMs()),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs()),
                ('label_id', models.TextField(null=True)),
                ('with_twins', models.BooleanField(default=False)),
            ],
            options={
                'db_table': 'queue_seats',
            },
        ),
        migrations.CreateModel(
            name='ReviewQueue',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('name', models.TextField(unique=True)),
                ('sample_filter', models.TextField(default='')),
                ('reviewers', openclaw_web.sqlite.fields.Count()),
                ('gold_share', openclaw_web.sqlite.fields.Count(default=0)),
                ('assigned_json', models.TextField(default='[]')),
                ('adjudicators_json', models.TextField(default='[]')),
                ('guideline', openclaw_web.sqlite.fields.Count(default=1)),
                ('state', datasets.fields.OneOf(choices=[('open', 'Open'), ('closed', 'Closed')], default='open')),
                ('created_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'review_queues',
            },
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='answers_json',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='guideline',
            field=openclaw_web.sqlite.fields.Count(null=True),
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='kind',
            field=datasets.fields.OneOf(choices=[('verdict', 'Verdict'), ('adjudication', 'Adjudication')], null=True),
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='queue_id',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='seconds',
            field=openclaw_web.sqlite.fields.Count(null=True),
        ),
        migrations.AddIndex(
            model_name='samplelabel',
            index=models.Index(condition=models.Q(('queue_id__isnull', False)), fields=['queue_id', 'id'], name='idx_label_queue'),
        ),
        migrations.AddField(
            model_name='queueseat',
            name='item',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='datasets.queueitem'),
        ),
        migrations.AddIndex(
            model_name='reviewqueue',
            index=models.Index(fields=['created_at', 'id'], name='idx_queue_created'),
        ),
        migrations.AddField(
            model_name='queueitem',
            name='queue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='datasets.reviewqueue'),
        ),
        migrations.AddField(
            model_name='guideline',
            name='queue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='guidelines', to='datasets.reviewqueue'),
        ),
        migrations.AddIndex(
            model_name='queueseat',
            index=models.Index(fields=['reviewer', 'label_id'], name='idx_seat_of_reviewer'),
        ),
        migrations.AddConstraint(
            model_name='queueseat',
            constraint=models.UniqueConstraint(fields=('item', 'reviewer'), name='idx_seat_reviewer'),
        ),
        migrations.AddIndex(
            model_name='queueitem',
            index=models.Index(fields=['queue', 'state', 'value', 'sample_created_at', 'id'], name='idx_item_value'),
        ),
        migrations.AddIndex(
            model_name='queueitem',
            index=models.Index(fields=['queue', 'state', 'sample_created_at', 'id'], name='idx_item_created'),
        ),
        migrations.AddIndex(
            model_name='queueitem',
            index=models.Index(fields=['sample_id', 'state'], name='idx_item_of_sample'),
        ),
        migrations.AddConstraint(
            model_name='queueitem',
            constraint=models.UniqueConstraint(fields=('queue', 'sample_id'), name='idx_item_sample'),
        ),
        migrations.AddConstraint(
            model_name='guideline',
            constraint=models.UniqueConstraint(fields=('queue', 'number'), name='idx_guideline_number'),
        ),
    ]
