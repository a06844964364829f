import datasets.fields
import django.db.models.deletion
import django.db.models.expressions
import openclaw_web.sqlite.fields
from django.db import migrations, models

from . import _sql


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Benchmark',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('name', models.TextField(unique=True)),
                ('questions', openclaw_web.sqlite.fields.Count()),
                ('grams', models.BinaryField()),
                ('sha256', models.TextField()),
                ('added_by', models.TextField()),
                ('added_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'benchmarks',
            },
        ),
        migrations.CreateModel(
            name='DatasetMember',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('sample_id', models.TextField()),
                ('agent_id', models.TextField()),
                ('session_id', models.TextField()),
                ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                ('side', datasets.fields.OneOf(choices=[('train', 'Train'), ('validation', 'Validation'), ('test', 'Test')])),
                ('status', models.TextField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('needs_review', 'Needs Review'), ('auto_approved', 'Auto Approved')])),
                ('label_id', models.TextField(null=True)),
                ('content_hash', models.TextField()),
            ],
            options={
                'db_table': 'dataset_members',
            },
        ),
        migrations.CreateModel(
            name='DatasetSample',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('sample_type', models.TextField(choices=[('memory_gate_positive', 'Memory Gate Positive'), ('memory_gate_negative', 'Memory Gate Negative'), ('write_guardian_decision', 'Write Guardian Decision'), ('annotated_turn', 'Annotated Turn')])),
                ('turn_id', models.TextField(null=True)),
                ('decision_id', models.TextField(null=True)),
                ('audit_id', models.TextField(null=True)),
                ('session_id', models.TextField()),
                ('content', models.TextField()),
                ('quality_score', models.FloatField(null=True)),
                ('quality_factors', models.TextField(null=True)),
                ('annotation_status', models.TextField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('needs_review', 'Needs Review'), ('auto_approved', 'Auto Approved')], default='pending', null=True)),
                ('annotated_by', models.TextField(null=True)),
                ('annotated_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('annotation_notes', models.TextField(null=True)),
                ('privacy_checked', openclaw_web.sqlite.fields.SpecBoolean(default=False, null=True)),
                ('contains_pii', openclaw_web.sqlite.fields.SpecBoolean(default=False, null=True)),
                ('pii_redacted_content', models.TextField(null=True)),
                ('collection_strategy', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('agent_id', models.TextField()),
                ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                ('output', models.TextField(null=True)),
                ('gate_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], null=True)),
                ('gate_corrected_output', models.TextField(null=True)),
                ('guardian_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], null=True)),
                ('guardian_corrected_output', models.TextField(null=True)),
                ('prompted_by', models.TextField(default='')),
                ('reply_stop', models.TextField(default='')),
                ('turn_traits', models.TextField(default='')),
                ('label_id', models.TextField(null=True)),
                ('reject_reason', models.TextField(null=True)),
                ('repeat_of', models.TextField(null=True)),
            ],
            options={
                'db_table': 'dataset_samples',
            },
        ),
        migrations.CreateModel(
            name='DatasetVersion',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('number', openclaw_web.sqlite.fields.Count()),
                ('state', datasets.fields.OneOf(choices=[('building', 'Building'), ('released', 'Released')], default='building')),
                ('options_json', models.TextField()),
                ('rules_json', models.TextField(default='{}')),
                ('counts_json', models.TextField(default='{}')),
                ('member_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('checksum', models.TextField(default='')),
                ('notes', models.TextField(default='')),
                ('released_by', models.TextField()),
                ('released_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'dataset_versions',
            },
        ),
        migrations.CreateModel(
            name='FindingValue',
            fields=[
                ('value_hash', models.TextField(primary_key=True, serialize=False)),
                ('kind', models.TextField()),
                ('rule', models.TextField()),
                ('confidence', models.FloatField()),
                ('state', datasets.fields.OneOf(choices=[('open', 'Open'), ('confirmed', 'Confirmed'), ('dismissed', 'Dismissed')], default='open')),
                ('places', openclaw_web.sqlite.fields.Count(default=0)),
                ('agents', openclaw_web.sqlite.fields.Count(default=0)),
                ('first_found_at', openclaw_web.sqlite.fields.EpochMs()),
                ('decided_by', models.TextField(null=True)),
                ('decided_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'finding_values',
            },
        ),
        migrations.CreateModel(
            name='FindingValueAgent',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('value_hash', models.TextField()),
                ('agent_id', models.TextField()),
                ('places', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'finding_value_agents',
            },
        ),
        migrations.CreateModel(
            name='FindingVerdict',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('scope', datasets.fields.OneOf(choices=[('value', 'Value'), ('place', 'Place'), ('rule', 'Rule')])),
                ('verdict', datasets.fields.OneOf(choices=[('confirmed', 'Confirmed'), ('dismissed', 'Dismissed'), ('added', 'Added'), ('undone', 'Undone')])),
                ('value_hash', models.TextField(null=True)),
                ('rule', models.TextField(null=True)),
                ('agent_id', models.TextField(null=True)),
                ('place', models.TextField(null=True)),
                ('notes', models.TextField(default='')),
                ('decided_by', models.TextField()),
                ('decided_at', openclaw_web.sqlite.fields.EpochMs()),
                ('undoes', models.TextField(null=True)),
            ],
            options={
                'db_table': 'finding_verdicts',
            },
        ),
        migrations.CreateModel(
            name='ReviewAction',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('actor', models.TextField()),
                ('kind', datasets.fields.OneOf(choices=[('verdict', 'Verdict'), ('skip', 'Skip'), ('bulk', 'Bulk')])),
                ('at', openclaw_web.sqlite.fields.EpochMs()),
                ('state', datasets.fields.OneOf(choices=[('done', 'Done'), ('undone', 'Undone'), ('overtaken', 'Overtaken')], default='done')),
                ('sample_id', models.TextField(null=True)),
                ('label_id', models.TextField(null=True)),
                ('bulk_id', models.TextField(null=True)),
                ('status', models.TextField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('needs_review', 'Needs Review'), ('auto_approved', 'Auto Approved')], null=True)),
                ('sample_count', openclaw_web.sqlite.fields.Count(default=1)),
            ],
            options={
                'db_table': 'review_actions',
            },
        ),
        migrations.CreateModel(
            name='ReviewDraw',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('drawn_by', models.TextField()),
                ('drawn_at', openclaw_web.sqlite.fields.EpochMs()),
                ('samples_json', models.TextField()),
            ],
            options={
                'db_table': 'review_draws',
            },
        ),
        migrations.CreateModel(
            name='SampleClaim',
            fields=[
                ('sample_id', models.TextField(primary_key=True, serialize=False)),
                ('claimed_by', models.TextField()),
                ('claimed_at', openclaw_web.sqlite.fields.EpochMs()),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'sample_claims',
            },
        ),
        migrations.CreateModel(
            name='SampleDraft',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('username', models.TextField()),
                ('sample_id', models.TextField()),
                ('page', models.TextField()),
                ('fields_json', models.TextField()),
                ('saved_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'sample_drafts',
            },
        ),
        migrations.CreateModel(
            name='SampleLabel',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('status', models.TextField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('needs_review', 'Needs Review'), ('auto_approved', 'Auto Approved')])),
                ('output', models.TextField(null=True)),
                ('notes', models.TextField(default='')),
                ('previous_status', models.TextField()),
                ('labelled_by', models.TextField()),
                ('labelled_at', openclaw_web.sqlite.fields.EpochMs()),
                ('gate_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], null=True)),
                ('gate_corrected_output', models.TextField(null=True)),
                ('guardian_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], null=True)),
                ('guardian_corrected_output', models.TextField(null=True)),
                ('undoes', models.TextField(null=True)),
                ('bulk_id', models.TextField(null=True)),
                ('before_json', models.TextField(null=True)),
                ('reason', models.TextField(null=True)),
                ('amends', models.TextField(null=True)),
            ],
            options={
                'db_table': 'sample_labels',
            },
        ),
        migrations.CreateModel(
            name='SampleSignature',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('rule', openclaw_web.sqlite.fields.Count()),
                ('made_from', models.BinaryField()),
                ('words', models.BinaryField()),
                ('numbers', models.BinaryField()),
                ('checksum', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'sample_signatures',
            },
        ),
        migrations.CreateModel(
            name='SessionSide',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('session_id', models.TextField()),
                ('side', datasets.fields.OneOf(choices=[('train', 'Train'), ('validation', 'Validation'), ('test', 'Test')])),
                ('since', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'dataset_sides',
            },
        ),
        migrations.CreateModel(
            name='VersionTaint',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('sample_id', models.TextField()),
                ('reason', datasets.fields.OneOf(choices=[('removed', 'Removed'), ('opted_out', 'Opted Out'), ('rolled_back', 'Rolled Back'), ('rejected', 'Rejected')])),
                ('noted_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'version_taints',
            },
        ),
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('name', models.TextField(unique=True)),
                ('description', models.TextField(default='')),
                ('options_json', models.TextField()),
                ('created_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'datasets',
                'indexes': [models.Index(fields=['created_at', 'id'], name='idx_dataset_created')],
            },
        ),
        migrations.CreateModel(
            name='DatasetExport',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('export_name', models.TextField()),
                ('export_format', models.TextField(choices=[('alpaca', 'Alpaca'), ('sharegpt', 'Sharegpt'), ('openai', 'Openai'), ('raw', 'Raw'), ('csv', 'Csv'), ('messages', 'Messages'), ('parquet', 'Parquet'), ('sharegpt_reflection', 'Sharegpt Reflection'), ('preference', 'Preference'), ('openai_preference', 'Openai Preference'), ('llamafactory_preference', 'Llamafactory Preference'), ('kto', 'Kto')])),
                ('sample_types', models.TextField()),
                ('filters', models.TextField(null=True)),
                ('total_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('approved_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('rejected_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('avg_quality_score', models.FloatField(null=True)),
                ('file_path', models.TextField()),
                ('file_size_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('checksum', models.TextField(null=True)),
                ('exported_by', models.TextField(null=True)),
                ('exported_at', openclaw_web.sqlite.fields.EpochMs()),
                ('task', models.TextField(choices=[('reply', 'Reply'), ('gate', 'Gate'), ('guardian', 'Guardian')], default='reply')),
                ('state', models.TextField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('ready', 'Ready'), ('refused', 'Refused'), ('failed', 'Failed')], default='waiting')),
                ('sentence', models.TextField(default='')),
                ('reasons_json', models.TextField(default='[]')),
                ('manifest_json', models.TextField(null=True)),
                ('job_id', models.TextField(null=True)),
                ('places_json', models.TextField(null=True)),
                ('difference_json', models.TextField(null=True)),
                ('version_id', models.TextField(null=True)),
            ],
            options={
                'db_table': 'dataset_exports',
                'indexes': [models.Index(fields=['exported_at', 'id'], name='idx_exported_at'), models.Index(condition=models.Q(('version_id__isnull', False)), fields=['version_id'], name='idx_export_version')],
                'constraints': [models.CheckConstraint(condition=models.Q(('export_format__in', ['alpaca', 'sharegpt', 'openai', 'raw', 'csv', 'messages', 'parquet', 'sharegpt_reflection', 'preference', 'openai_preference', 'llamafactory_preference', 'kto'])), name='export_format')],
            },
        ),
        migrations.CreateModel(
            name='SampleExchange',
            fields=[
                ('sample', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='exchange', serialize=False, to='datasets.datasetsample')),
                ('records_hash', models.BinaryField()),
                ('record_count', openclaw_web.sqlite.fields.Count()),
                ('records', models.BinaryField()),
                ('rule', openclaw_web.sqlite.fields.Count()),
                ('is_stale', models.BooleanField(default=False)),
                ('checked_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'sample_exchanges',
            },
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['sample_type', 'annotation_status', 'created_at', 'id'], name='idx_type_status'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'sample_type', 'annotation_status', 'created_at', 'id'], name='idx_sample_agent_type'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['quality_score'], name='idx_quality'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['session_id', 'created_at', 'id'], name='idx_session'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['created_at', 'id'], name='idx_sample_created'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['annotation_status', 'created_at', 'id'], name='idx_status_created'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'created_at', 'id'], name='idx_sample_agent'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'annotation_status', 'created_at', 'id'], name='idx_sample_agent_status'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'session_id', 'created_at', 'id'], name='idx_sample_session'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'session_id', 'turn_number', 'id', 'sample_type', 'annotation_status', 'prompted_by', 'reply_stop', 'quality_score', 'turn_traits'], name='idx_sample_place'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['prompted_by', 'created_at', 'id'], name='idx_sample_prompted'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['annotation_status', 'prompted_by', 'created_at', 'id'], name='idx_status_prompted'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(fields=['agent_id', 'annotation_status', 'prompted_by', 'created_at', 'id'], name='idx_sample_agent_prompted'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('reply_stop__in', ('aborted', 'error', 'length', 'max_tokens'))), fields=['created_at', 'id'], name='idx_sample_cut_off'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('reply_stop__in', ('aborted', 'error', 'length', 'max_tokens'))), fields=['annotation_status', 'created_at', 'id'], name='idx_status_cut_off'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('reject_reason__isnull', False)), fields=['reject_reason', 'created_at', 'id'], name='idx_sample_reason'),
        ),
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('repeat_of__isnull', False)), fields=['id'], name='idx_sample_repeated'),
        ),
        migrations.AddConstraint(
            model_name='datasetsample',
            constraint=models.CheckConstraint(condition=models.Q(('sample_type__in', ['memory_gate_positive', 'memory_gate_negative', 'write_guardian_decision', 'annotated_turn'])), name='sample_type'),
        ),
        migrations.AddConstraint(
            model_name='datasetsample',
            constraint=models.CheckConstraint(condition=models.Q(('annotation_status__in', ['pending', 'approved', 'rejected', 'needs_review', 'auto_approved'])), name='annotation_status'),
        ),
        migrations.AddField(
            model_name='datasetversion',
            name='dataset',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='datasets.dataset'),
        ),
        migrations.AddField(
            model_name='datasetmember',
            name='version',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='datasets.datasetversion'),
        ),
        migrations.AddIndex(
            model_name='findingvalue',
            index=models.Index(fields=['first_found_at', 'value_hash'], name='idx_value_found'),
        ),
        migrations.AddIndex(
            model_name='findingvalue',
            index=models.Index(fields=['state', 'first_found_at', 'value_hash'], name='idx_value_state'),
        ),
        migrations.AddIndex(
            model_name='findingvalue',
            index=models.Index(fields=['kind', 'first_found_at', 'value_hash'], name='idx_value_kind'),
        ),
        migrations.AddIndex(
            model_name='findingvalue',
            index=models.Index(fields=['state', 'kind', 'first_found_at', 'value_hash'], name='idx_value_state_kind'),
        ),
        migrations.AddIndex(
            model_name='findingvalue',
            index=models.Index(fields=['places', 'value_hash'], name='idx_value_places'),
        ),
        migrations.AddIndex(
            model_name='findingvalueagent',
            index=models.Index(fields=['agent_id', 'value_hash'], name='idx_agent_value'),
        ),
        migrations.AddConstraint(
            model_name='findingvalueagent',
            constraint=models.UniqueConstraint(fields=('value_hash', 'agent_id'), name='idx_value_agent'),
        ),
        migrations.AddIndex(
            model_name='findingverdict',
            index=models.Index(fields=['value_hash', 'decided_at', 'id'], name='idx_finding_verdict_value'),
        ),
        migrations.AddIndex(
            model_name='findingverdict',
            index=models.Index(fields=['rule', 'decided_at', 'id'], name='idx_finding_verdict_rule'),
        ),
        migrations.AddIndex(
            model_name='findingverdict',
            index=models.Index(fields=['decided_at', 'id'], name='idx_finding_verdict_at'),
        ),
        migrations.AddIndex(
            model_name='reviewaction',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('at'), '/', models.Value(86400000)), models.F('actor'), models.F('status'), models.F('sample_count'), condition=models.Q(('status__isnull', False), models.Q(('state', 'undone'), _negated=True)), name='idx_action_day'),
        ),
        migrations.AddIndex(
            model_name='reviewaction',
            index=models.Index(fields=['actor', 'at'], name='idx_action_actor'),
        ),
        migrations.AddIndex(
            model_name='reviewaction',
            index=models.Index(fields=['at', 'kind', 'state', 'sample_count'], name='idx_action_at'),
        ),
        migrations.AddIndex(
            model_name='reviewaction',
            index=models.Index(condition=models.Q(('kind', 'skip')), fields=['actor', 'sample_id'], name='idx_action_skip'),
        ),
        migrations.AddIndex(
            model_name='sampledraft',
            index=models.Index(fields=['username', 'saved_at'], name='idx_draft_saved'),
        ),
        migrations.AddConstraint(
            model_name='sampledraft',
            constraint=models.UniqueConstraint(fields=('username', 'sample_id', 'page'), name='idx_draft_page'),
        ),
        migrations.AddField(
            model_name='samplelabel',
            name='sample',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='labels', to='datasets.datasetsample'),
        ),
        migrations.AddField(
            model_name='samplesignature',
            name='sample',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='signature', to='datasets.datasetsample'),
        ),
        migrations.AddField(
            model_name='sessionside',
            name='dataset',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sides', to='datasets.dataset'),
        ),
        migrations.AddField(
            model_name='versiontaint',
            name='version',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='taints', to='datasets.datasetversion'),
        ),
        migrations.AddIndex(
            model_name='sampleexchange',
            index=models.Index(fields=['checked_at', 'sample'], name='idx_exchange_checked'),
        ),
        migrations.AddIndex(
            model_name='sampleexchange',
            index=models.Index(condition=models.Q(('is_stale', True)), fields=['sample'], name='idx_exchange_stale'),
        ),
        migrations.AddIndex(
            model_name='datasetversion',
            index=models.Index(fields=['released_at', 'id'], name='idx_version_released'),
        ),
        migrations.AddConstraint(
            model_name='datasetversion',
            constraint=models.UniqueConstraint(fields=('dataset', 'number'), name='idx_version_number'),
        ),
        migrations.AddIndex(
            model_name='datasetmember',
            index=models.Index(fields=['sample_id', 'version'], name='idx_member_sample'),
        ),
        migrations.AddIndex(
            model_name='datasetmember',
            index=models.Index(fields=['version', 'id'], name='idx_member_version'),
        ),
        migrations.AddIndex(
            model_name='datasetmember',
            index=models.Index(fields=['version', 'side', 'id'], name='idx_member_side'),
        ),
        migrations.AddConstraint(
            model_name='datasetmember',
            constraint=models.UniqueConstraint(fields=('version', 'sample_id'), name='idx_member_sample_of_version'),
        ),
        migrations.AddIndex(
            model_name='samplelabel',
            index=models.Index(fields=['sample', 'labelled_at', 'id'], name='idx_label_sample'),
        ),
        migrations.AddIndex(
            model_name='samplelabel',
            index=models.Index(condition=models.Q(('bulk_id__isnull', False)), fields=['bulk_id'], name='idx_label_bulk'),
        ),
        migrations.AddConstraint(
            model_name='sessionside',
            constraint=models.UniqueConstraint(fields=('dataset', 'session_id'), name='idx_side_session'),
        ),
        migrations.AddIndex(
            model_name='versiontaint',
            index=models.Index(fields=['version', 'reason', 'sample_id'], name='idx_taint_reason'),
        ),
        migrations.AddConstraint(
            model_name='versiontaint',
            constraint=models.UniqueConstraint(fields=('version', 'sample_id', 'reason'), name='idx_taint_once'),
        ),
        migrations.RunPython(_sql.add, _sql.drop, elidable=False),
    ]
