import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='IndexedFile',
            fields=[
                ('pk', models.CompositePrimaryKey('database', 'source', 'path', blank=True, editable=False, primary_key=True, serialize=False)),
                ('database', models.TextField()),
                ('source', models.TextField()),
                ('path', models.TextField()),
                ('size_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('modified_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('chunk_count', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'indexed_files',
            },
        ),
        migrations.CreateModel(
            name='PromptReport',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('report_json', models.TextField()),
            ],
            options={
                'db_table': 'prompt_reports',
            },
        ),
        migrations.CreateModel(
            name='ToolDay',
            fields=[
                ('pk', models.CompositePrimaryKey('date', 'tool', 'channel_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('date', models.TextField()),
                ('tool', models.TextField()),
                ('channel_id', models.TextField()),
                ('call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('result_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('failed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('stashed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('stashed_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('kept_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('carried_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'tool_days',
            },
        ),
        migrations.CreateModel(
            name='VfsEntry',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace', 'path', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.TextField()),
                ('path', models.TextField()),
                ('kind', models.TextField(default='')),
                ('bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('handle', models.TextField(null=True)),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'vfs_entries',
            },
        ),
        migrations.CreateModel(
            name='RejectedRecord',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('file', models.TextField()),
                ('byte_offset', openclaw_web.sqlite.fields.Count()),
                ('byte_length', openclaw_web.sqlite.fields.Count()),
                ('reason', models.TextField()),
                ('detail', models.TextField(default='')),
                ('raw_preview', models.TextField(default='')),
                ('session_id', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'rejected_records',
                'constraints': [models.UniqueConstraint(fields=('file', 'byte_offset'), name='rejected_once')],
            },
        ),
        migrations.CreateModel(
            name='RemovedSession',
            fields=[
                ('session_id', models.TextField(primary_key=True, serialize=False)),
                ('removed_at', openclaw_web.sqlite.fields.EpochMs()),
                ('why', models.TextField(choices=[('retention', 'Retention'), ('archive', 'Archive')])),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs()),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('archive', models.TextField(default='')),
            ],
            options={
                'db_table': 'removed_sessions',
                'indexes': [models.Index(fields=['removed_at', 'session_id'], name='idx_removed_at')],
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('channel_id', models.TextField(default='unknown')),
                ('conversation_target', models.TextField(null=True)),
                ('account_id', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('last_activity_at', openclaw_web.sqlite.fields.EpochMs()),
                ('metadata', models.TextField(null=True)),
                ('session_key', models.TextField(null=True)),
                ('origin', models.TextField(default='unknown')),
                ('source_state', models.TextField(choices=[('live', 'Live'), ('reset', 'Reset'), ('deleted', 'Deleted'), ('bak', 'Backup')], default='live')),
                ('title', models.TextField(default='')),
                ('model', models.TextField(null=True)),
                ('prompt_report', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='ledger.promptreport')),
                ('leaf_record_id', models.TextField(null=True)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('kind_counts', models.TextField(db_default='{}', default='{}')),
                ('id_checksum', models.TextField(db_default='0000000000000000', default='0000000000000000')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('compaction_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('withheld_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('parents', models.TextField(default='')),
                ('repeats_mark', models.TextField(default='')),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'sessions',
            },
        ),
        migrations.CreateModel(
            name='ConversationTurn',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='ledger.session')),
                ('turn_number', openclaw_web.sqlite.fields.Count()),
                ('user_message_id', models.TextField(null=True)),
                ('user_message_content', models.TextField()),
                ('user_from', models.TextField(null=True)),
                ('user_metadata', models.TextField(null=True)),
                ('agent_message_id', models.TextField(null=True)),
                ('agent_message_content', models.TextField()),
                ('agent_metadata', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('is_active', models.BooleanField(default=True)),
                ('first_seq', openclaw_web.sqlite.fields.Count()),
                ('last_seq', openclaw_web.sqlite.fields.Count()),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('latency_ms', openclaw_web.sqlite.fields.Count(null=True)),
                ('model', models.TextField(null=True)),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('repeat_of', models.TextField(null=True)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'conversation_turns',
            },
        ),
        migrations.CreateModel(
            name='SessionDay',
            fields=[
                ('pk', models.CompositePrimaryKey('session_id', 'date', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='ledger.session')),
                ('date', models.TextField()),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'session_days',
            },
        ),
        migrations.CreateModel(
            name='SessionTool',
            fields=[
                ('pk', models.CompositePrimaryKey('session_id', 'date', 'tool', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='ledger.session')),
                ('open_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('date', models.TextField()),
                ('tool', models.TextField()),
                ('channel_id', models.TextField()),
                ('call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('result_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('failed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('stashed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('stashed_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('kept_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('carried_chars', openclaw_web.sqlite.fields.Count(default=0)),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={
                'db_table': 'session_tools',
            },
        ),
        migrations.CreateModel(
            name='TrajectoryEvent',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('session_id', models.TextField()),
                ('seq', openclaw_web.sqlite.fields.Count()),
                ('run_id', models.TextField(default='')),
                ('type', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('about_json', models.TextField(default='{}')),
            ],
            options={
                'db_table': 'trajectory_events',
                'indexes': [models.Index(fields=['session_id', 'created_at', 'seq'], name='idx_trajectory_session')],
            },
        ),
        migrations.CreateModel(
            name='TranscriptEvent',
            fields=[
                ('pk', models.CompositePrimaryKey('session_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='ledger.session')),
                ('seq', openclaw_web.sqlite.fields.Count()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('kind', models.TextField(choices=[('session', 'Session'), ('user', 'User'), ('assistant', 'Assistant'), ('tool_result', 'Tool Result'), ('compaction', 'Compaction'), ('branch_summary', 'Branch Summary'), ('model_change', 'Model Change'), ('thinking_level_change', 'Thinking Level Change'), ('custom', 'Custom'), ('custom_message', 'Custom Message'), ('label', 'Label'), ('session_info', 'Session Info'), ('reset', 'Reset'), ('leaf', 'Leaf'), ('usage', 'Usage'), ('message', 'message with another role'), ('withheld', 'not kept: the sender opted out'), ('unknown', 'a type this version does not know, kept raw')])),
                ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                ('is_active', models.BooleanField(default=True)),
                ('is_failed', models.BooleanField(default=False)),
                ('is_synthetic', models.BooleanField(default=False)),
                ('model', models.TextField(null=True)),
                ('tool_name', models.TextField(null=True)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cost_usd', models.FloatField(null=True)),
                ('repeat_of', models.TextField(null=True)),
                ('trim_json', models.TextField(null=True)),
                ('event_json', models.TextField()),
                ('full_zstd', models.BinaryField(null=True)),
            ],
            options={
                'db_table': 'transcript_events',
            },
        ),
        migrations.CreateModel(
            name='TranscriptEventIdentity',
            fields=[
                ('pk', models.CompositePrimaryKey('session_id', 'event_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to='ledger.session')),
                ('event_id', models.TextField()),
                ('seq', openclaw_web.sqlite.fields.Count()),
                ('event_type', models.TextField()),
                ('has_parent', models.BooleanField()),
                ('parent_id', models.TextField(null=True)),
                ('message_idempotency_key', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'transcript_event_identities',
            },
        ),
        migrations.CreateModel(
            name='TranscriptSnapshot',
            fields=[
                ('pk', models.CompositePrimaryKey('session_id', 'snapshot_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='ledger.session')),
                ('snapshot_id', models.TextField()),
                ('reason', models.TextField()),
                ('event_count', openclaw_web.sqlite.fields.Count()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('metadata_json', models.TextField()),
            ],
            options={
                'db_table': 'transcript_snapshots',
            },
        ),
        migrations.CreateModel(
            name='ConversationContext',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='contexts', to='ledger.conversationturn')),
                ('role', models.TextField(choices=[('user', 'User'), ('agent', 'Agent')])),
                ('message', models.TextField()),
                ('timestamp', openclaw_web.sqlite.fields.EpochMs()),
                ('sequence_number', openclaw_web.sqlite.fields.Count()),
            ],
            options={
                'db_table': 'conversation_contexts',
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['user', 'agent'])), name='context_role'), models.UniqueConstraint(fields=('turn', 'sequence_number'), name='idx_turn_sequence')],
            },
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['last_activity_at', 'id'], name='idx_last_activity'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['channel_id', 'last_activity_at', 'id'], name='idx_channel'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['origin', 'last_activity_at', 'id'], name='idx_origin'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['source_state', 'last_activity_at', 'id'], name='idx_source_state'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('error_count__gt', 0)), fields=['last_activity_at', 'id'], name='idx_with_errors'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['model', 'last_activity_at', 'id'], name='idx_session_model'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['session_key'], name='idx_session_key'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['created_at', 'id'], name='idx_session_started'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(openclaw_web.sqlite.fields.KnownCost(), models.F('id'), name='idx_session_cost'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['total_tokens', 'id'], name='idx_session_tokens'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['error_count', 'id'], name='idx_session_errors'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['turn_count', 'id'], name='idx_session_turns'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('parents', ''), _negated=True), fields=['id'], name='idx_session_parents'),
        ),
        migrations.AddIndex(
            model_name='conversationturn',
            index=models.Index(fields=['created_at'], name='idx_created_at'),
        ),
        migrations.AddIndex(
            model_name='conversationturn',
            index=models.Index(condition=models.Q(('is_active', True), ('prompt_tokens__gt', 0)), fields=['created_at', 'prompt_tokens'], name='idx_turn_prompt'),
        ),
        migrations.AddConstraint(
            model_name='conversationturn',
            constraint=models.UniqueConstraint(fields=('session', 'turn_number'), name='idx_session_turn'),
        ),
        migrations.AddIndex(
            model_name='sessionday',
            index=models.Index(fields=['date'], name='idx_session_days_date'),
        ),
        migrations.AddIndex(
            model_name='transcriptevent',
            index=models.Index(condition=models.Q(('is_active', False)), fields=['session_id', 'seq'], name='idx_event_aside'),
        ),
        migrations.AddIndex(
            model_name='transcriptevent',
            index=models.Index(condition=models.Q(('repeat_of__isnull', False)), fields=['session_id', 'seq'], name='idx_event_repeat'),
        ),
        migrations.AddIndex(
            model_name='transcriptevent',
            index=models.Index(fields=['created_at'], name='idx_event_created'),
        ),
        migrations.AddIndex(
            model_name='transcripteventidentity',
            index=models.Index(fields=['session_id', 'seq'], name='idx_identity_seq'),
        ),
        migrations.AddIndex(
            model_name='transcripteventidentity',
            index=models.Index(condition=models.Q(('event_type', 'reset')), fields=['session_id', 'seq'], name='idx_identity_reset'),
        ),
    ]
