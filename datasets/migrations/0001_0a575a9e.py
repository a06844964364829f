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
                ('id', models.TextField(help_text='decides which are drawn: the same one draws the same ones', primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('drawn_by', models.TextField()),
                ('drawn_at', openclaw_web.sqlite.fields.EpochMs()),
                ('samples_json', models.TextField(help_text='JSON list of the ids of samples')),
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
                ('claimed_at', openclaw_web.sqlite.fields.EpochMs(help_text='changes whenever the page is opened anew: an old page does not free it')),
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
                ('sample_types', models.TextField(help_text='JSON list')),
                ('filters', models.TextField(help_text='JSON: onlyApproved, trainSplit, seed, agent, ...', null=True)),
                ('total_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('approved_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('rejected_samples', openclaw_web.sqlite.fields.Count(null=True)),
                ('avg_quality_score', models.FloatField(null=True)),
                ('file_path', models.TextField(help_text='folder, relative to the home')),
                ('file_size_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('checksum', models.TextField(help_text='sha256 of manifest.json', null=True)),
                ('exported_by', models.TextField(null=True)),
                ('exported_at', openclaw_web.sqlite.fields.EpochMs()),
                ('task', models.TextField(choices=[('reply', 'Reply'), ('gate', 'Gate'), ('guardian', 'Guardian')], default='reply')),
                ('state', models.TextField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('ready', 'Ready'), ('refused', 'Refused'), ('failed', 'Failed')], default='waiting')),
                ('sentence', models.TextField(default='', help_text='why it was refused or failed')),
                ('reasons_json', models.TextField(default='[]', help_text='rows that stood in the way: sample, reason')),
                ('manifest_json', models.TextField(null=True)),
                ('job_id', models.TextField(null=True)),
                ('places_json', models.TextField(help_text='where rows begin in its file, to find any of them', null=True)),
                ('difference_json', models.TextField(help_text='compared with the export before; null: not yet', null=True)),
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
                ('content', models.TextField(help_text='JSON, shaped by sample_type')),
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
                ('output', models.TextField(help_text='the reply as a person edited it; null: as the agent gave it', null=True)),
                ('gate_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], help_text="the spec's memoryGate.label", null=True)),
                ('gate_corrected_output', models.TextField(help_text="JSON, the spec's memoryGate.correctedOutput", null=True)),
                ('guardian_label', datasets.fields.OneOf(choices=[('correct', 'Correct'), ('incorrect', 'Incorrect'), ('corrected', 'Corrected')], help_text="the spec's writeGuardian.label", null=True)),
                ('guardian_corrected_output', models.TextField(help_text="JSON, the spec's writeGuardian.correctedOutput", null=True)),
                ('prompted_by', models.TextField(default='', help_text="which prompt of OpenClaw's own, or `silent`; empty: a person's")),
                ('reply_stop', models.TextField(default='', help_text='the stop reason recorded with the reply; empty: none')),
                ('turn_traits', models.TextField(default='', help_text='tools, envelope, unrecognized, images or gone, with blanks between them (datasets.turn_facts)')),
                ('label_id', models.TextField(help_text='the verdict in force; null: none', null=True)),
                ('reject_reason', models.TextField(help_text='a code of review.rejectReasons; null: none, or no reject', null=True)),
                ('repeat_of', models.TextField(help_text='the session that has its turn, of which this one is a copy', null=True)),
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
                ('page', models.TextField(help_text='the opening of the page it was typed on: two tabs do not write over each other')),
                ('fields_json', models.TextField(help_text="the fields of the verdict's form, by name")),
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
                ('rule', openclaw_web.sqlite.fields.Count(help_text='the version of the rules it follows: likeness.signatures.RULE')),
                ('made_from', models.BinaryField(help_text='SHA-256 of prompt and reply, the reply as a person edited it')),
                ('words', models.BinaryField(help_text='hash of their normalised words: the same words, the same sample')),
                ('numbers', models.BinaryField(help_text='MinHash of every five words, 128 numbers of four bytes; empty: no words')),
                ('checksum', openclaw_web.sqlite.fields.Count(help_text="CRC-32 of everything above and of the sample's id")),
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
                ('undoes', models.TextField(help_text='id of the label that this one takes back', null=True)),
                ('bulk_id', models.TextField(help_text='what verdicts given in one go share', null=True)),
                ('before_json', models.TextField(help_text="the sample's columns before it, to restore them exactly", null=True)),
                ('reason', models.TextField(help_text='of a reject: a code of review.rejectReasons', null=True)),
                ('amends', models.TextField(help_text='id of the reject whose reason this row gives: both are one verdict', null=True)),
            ],
            options={
                'db_table': 'sample_labels',
                'indexes': [models.Index(fields=['sample', 'labelled_at', 'id'], name='idx_label_sample'), models.Index(condition=models.Q(('bulk_id__isnull', False)), fields=['bulk_id'], name='idx_label_bulk')],
            },
        ),
        migrations.RunPython(_sql.add, _sql.drop, elidable=False),
    ]
