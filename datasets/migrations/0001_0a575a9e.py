import datasets.fields
import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models

from . import _sql


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
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
            name='DatasetExport',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('export_name', models.TextField()),
                ('export_format', models.TextField(choices=[('alpaca', 'Alpaca'), ('sharegpt', 'Sharegpt'), ('openai', 'Openai'), ('raw', 'Raw'), ('csv', 'Csv')])),
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
            ],
            options={
                'db_table': 'dataset_exports',
                'indexes': [models.Index(fields=['exported_at', 'id'], name='idx_exported_at')],
                'constraints': [models.CheckConstraint(condition=models.Q(('export_format__in', ['alpaca', 'sharegpt', 'openai', 'raw', 'csv'])), name='export_format')],
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
                'indexes': [models.Index(fields=['sample_type', 'annotation_status', 'created_at', 'id'], name='idx_type_status'), models.Index(fields=['agent_id', 'sample_type', 'annotation_status', 'created_at', 'id'], name='idx_sample_agent_type'), models.Index(fields=['quality_score'], name='idx_quality'), models.Index(fields=['session_id', 'created_at', 'id'], name='idx_session'), models.Index(fields=['created_at', 'id'], name='idx_sample_created'), models.Index(fields=['annotation_status', 'created_at', 'id'], name='idx_status_created'), models.Index(fields=['agent_id', 'created_at', 'id'], name='idx_sample_agent'), models.Index(fields=['agent_id', 'annotation_status', 'created_at', 'id'], name='idx_sample_agent_status'), models.Index(fields=['agent_id', 'session_id', 'created_at', 'id'], name='idx_sample_session'), models.Index(fields=['agent_id', 'session_id', 'turn_number', 'id', 'sample_type', 'annotation_status', 'prompted_by', 'reply_stop', 'quality_score', 'turn_traits'], name='idx_sample_place'), models.Index(fields=['prompted_by', 'created_at', 'id'], name='idx_sample_prompted'), models.Index(fields=['annotation_status', 'prompted_by', 'created_at', 'id'], name='idx_status_prompted'), models.Index(fields=['agent_id', 'annotation_status', 'prompted_by', 'created_at', 'id'], name='idx_sample_agent_prompted'), models.Index(condition=models.Q(('reply_stop__in', ('aborted', 'error', 'length', 'max_tokens'))), fields=['created_at', 'id'], name='idx_sample_cut_off'), models.Index(condition=models.Q(('reply_stop__in', ('aborted', 'error', 'length', 'max_tokens'))), fields=['annotation_status', 'created_at', 'id'], name='idx_status_cut_off'), models.Index(condition=models.Q(('reject_reason__isnull', False)), fields=['reject_reason', 'created_at', 'id'], name='idx_sample_reason'), models.Index(condition=models.Q(('repeat_of__isnull', False)), fields=['id'], name='idx_sample_repeated')],
                'constraints': [models.CheckConstraint(condition=models.Q(('sample_type__in', ['memory_gate_positive', 'memory_gate_negative', 'write_guardian_decision', 'annotated_turn'])), name='sample_type'), models.CheckConstraint(condition=models.Q(('annotation_status__in', ['pending', 'approved', 'rejected', 'needs_review', 'auto_approved'])), name='annotation_status')],
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
                ('sample_count', openclaw_web.sqlite.fields.Count(default=1)),
            ],
            options={
                'db_table': 'review_actions',
                'indexes': [models.Index(fields=['actor', 'at'], name='idx_action_actor'), models.Index(fields=['at', 'kind', 'state', 'sample_count'], name='idx_action_at'), models.Index(condition=models.Q(('kind', 'skip')), fields=['actor', 'sample_id'], name='idx_action_skip')],
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
                'indexes': [models.Index(fields=['username', 'saved_at'], name='idx_draft_saved')],
                'constraints': [models.UniqueConstraint(fields=('username', 'sample_id', 'page'), name='idx_draft_page')],
            },
        ),
        migrations.CreateModel(
            name='SampleSignature',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('sample', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='signature', to='datasets.datasetsample')),
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
            name='SampleLabel',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('sample', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='labels', to='datasets.datasetsample')),
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
                'indexes': [models.Index(fields=['sample', 'labelled_at', 'id'], name='idx_label_sample'), models.Index(condition=models.Q(('bulk_id__isnull', False)), fields=['bulk_id'], name='idx_label_bulk')],
            },
        ),
        migrations.RunPython(_sql.add, _sql.drop, elidable=False),
    ]
