import datasets.fields
import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models

from . import _collection_sql


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0011_be2187c9'),
    ]

    operations = [
        migrations.CreateModel(
            name='CollectionRun',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('state', datasets.fields.OneOf(choices=[('running', 'Running'), ('finished', 'Finished')], default='running')),
                ('is_dry', models.BooleanField(default=False)),
                ('options_json', models.TextField(default='{}')),
                ('counts_json', models.TextField(default='{}')),
                ('started_by', models.TextField()),
                ('started_at', openclaw_web.sqlite.fields.EpochMs()),
                ('ended_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'collection_runs',
            },
        ),
        migrations.CreateModel(
            name='CollectionStrategy',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('name', models.TextField()),
                ('version', openclaw_web.sqlite.fields.Count()),
                ('criteria_json', models.TextField()),
                ('created_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'collection_strategies',
            },
        ),
        migrations.CreateModel(
            name='SampleEvidence',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('criterion', models.TextField()),
                ('answer', datasets.fields.OneOf(choices=[('yes', 'Yes'), ('no', 'No'), ('unknown', 'Unknown')])),
                ('source_kind', models.TextField(default='')),
                ('source_id', models.TextField(default='')),
                ('rule', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'sample_evidence',
            },
        ),
        migrations.CreateModel(
            name='TurnOutcome',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('turn_id', models.TextField()),
                ('session_id', models.TextField()),
                ('turn_number', openclaw_web.sqlite.fields.Count()),
                ('at', openclaw_web.sqlite.fields.EpochMs()),
                ('outcome', openclaw_web.sqlite.fields.Count()),
                ('yes', openclaw_web.sqlite.fields.Count(default=0)),
                ('unknown', openclaw_web.sqlite.fields.Count(default=0)),
                ('score', models.FloatField(null=True)),
                ('mark', openclaw_web.sqlite.fields.Count(default=0)),
                ('run_id', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'turn_outcomes',
            },
        ),
        migrations.AddIndex(
            model_name='samplesignature',
            index=models.Index(fields=['words'], name='idx_signature_words'),
        ),
        migrations.AddConstraint(
            model_name='collectionstrategy',
            constraint=models.UniqueConstraint(fields=('name', 'version'), name='idx_strategy_version'),
        ),
        migrations.AddField(
            model_name='collectionrun',
            name='strategy',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='datasets.collectionstrategy'),
        ),
        migrations.AddField(
            model_name='sampleevidence',
            name='sample',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='datasets.datasetsample'),
        ),
        migrations.AddIndex(
            model_name='turnoutcome',
            index=models.Index(fields=['run_id', 'outcome', 'id'], name='idx_outcome_run'),
        ),
        migrations.AddIndex(
            model_name='turnoutcome',
            index=models.Index(fields=['agent_id', 'session_id', 'turn_number'], name='idx_outcome_place'),
        ),
        migrations.AddIndex(
            model_name='turnoutcome',
            index=models.Index(fields=['yes', 'unknown', 'score', 'at'], name='idx_outcome_bits'),
        ),
        migrations.AddIndex(
            model_name='turnoutcome',
            index=models.Index(condition=models.Q(('outcome', 6)), fields=['at'], name='idx_outcome_waiting'),
        ),
        migrations.AddConstraint(
            model_name='turnoutcome',
            constraint=models.UniqueConstraint(fields=('agent_id', 'turn_id'), name='idx_outcome_turn'),
        ),
        migrations.AddConstraint(
            model_name='sampleevidence',
            constraint=models.UniqueConstraint(fields=('sample', 'criterion'), name='idx_evidence_sample'),
        ),
        migrations.RunPython(_collection_sql.add, _collection_sql.drop, elidable=False),
    ]
