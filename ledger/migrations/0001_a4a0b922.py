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
                ('database', models.TextField(help_text='relative to the home')),
                ('source', models.TextField(help_text='memory or sessions')),
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
                ('id', models.TextField(help_text='sha256 of report_json', primary_key=True, serialize=False)),
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
                ('date', models.TextField(help_text='YYYY-MM-DD, UTC')),
                ('tool', models.TextField(help_text='empty when the record does not say')),
                ('channel_id', models.TextField(help_text='of the session when its first records came')),
                ('call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('result_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('failed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of all results')),
                ('stashed_count', openclaw_web.sqlite.fields.Count(default=0, help_text="results' texts that are artifacts")),
                ('stashed_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of these, whole')),
                ('kept_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of what would stay of them: preview, summary, handle')),
                ('carried_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='what would be saved, once for each later model call that read it again')),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='what model calls read; counted in the row without a tool')),
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
                ('handle', models.TextField(help_text='of the artifact that holds the content; null: a folder, or not kept', null=True)),
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
                ('file', models.TextField(help_text='relative to the home it was read from')),
                ('byte_offset', openclaw_web.sqlite.fields.Count()),
                ('byte_length', openclaw_web.sqlite.fields.Count()),
                ('reason', models.TextField(help_text='one word: not_json, not_utf8, nul_bytes, not_an_object, missing_type, ...')),
                ('detail', models.TextField(default='')),
                ('raw_preview', models.TextField(default='', help_text='the first 2,000 characters, undecodable bytes replaced')),
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
                ('archive', models.TextField(default='', help_text='its file; within the home relative to it')),
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
                ('metadata', models.TextField(help_text='JSON', null=True)),
                ('session_key', models.TextField(null=True)),
                ('origin', models.TextField(default='unknown', help_text='main, direct, group, channel, cron, subagent, ...')),
                ('source_state', models.TextField(choices=[('live', 'Live'), ('reset', 'Reset'), ('deleted', 'Deleted'), ('bak', 'Backup')], default='live')),
                ('title', models.TextField(default='')),
                ('model', models.TextField(help_text='the last model that answered', null=True)),
                ('prompt_report', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='ledger.promptreport')),
                ('leaf_record_id', models.TextField(help_text='the record the active branch ends with', null=True)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('kind_counts', models.TextField(db_default='{}', default='{}', help_text='JSON: kind -> records')),
                ('id_checksum', models.TextField(db_default='0000000000000000', default='0000000000000000', help_text='of the ids of its records (agents.holdings)')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0, help_text='on the active branch')),
                ('compaction_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('withheld_count', openclaw_web.sqlite.fields.Count(default=0, help_text='records not kept because their sender opted out')),
                ('parents', models.TextField(default='', help_text='JSON: the sessions whose records it may repeat; empty: it names none (repeats.lineage)')),
                ('repeats_mark', models.TextField(default='', help_text='the sessions that its repeated records were compared with')),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='failed tool calls and failed model calls')),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='of the calls whose cost is known; null: of none it is', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='tokens of calls whose cost is not known')),
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
                ('turn_number', openclaw_web.sqlite.fields.Count(help_text='never given to another turn, also when this one leaves the active branch')),
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
                ('latency_ms', openclaw_web.sqlite.fields.Count(help_text='from the user message to the reply', null=True)),
                ('model', models.TextField(null=True)),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(help_text='the prompt of its biggest model call; null: none is known', null=True)),
                ('repeat_of', models.TextField(help_text='the session that has this turn, which this one repeats', null=True)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='failed tool calls and failed model calls')),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='of the calls whose cost is known; null: of none it is', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='tokens of calls whose cost is not known')),
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
                ('date', models.TextField(help_text='YYYY-MM-DD, UTC')),
                ('turn_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('record_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('error_count', openclaw_web.sqlite.fields.Count(default=0, help_text='failed tool calls and failed model calls')),
                ('input_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(default=0)),
                ('cost_usd', models.FloatField(help_text='of the calls whose cost is known; null: of none it is', null=True)),
                ('unpriced_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='tokens of calls whose cost is not known')),
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
                ('open_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='what would be saved of each model call from here on')),
                ('date', models.TextField(help_text='YYYY-MM-DD, UTC')),
                ('tool', models.TextField(help_text='empty when the record does not say')),
                ('channel_id', models.TextField(help_text='of the session when its first records came')),
                ('call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('result_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('failed_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of all results')),
                ('stashed_count', openclaw_web.sqlite.fields.Count(default=0, help_text="results' texts that are artifacts")),
                ('stashed_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of these, whole')),
                ('kept_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='of what would stay of them: preview, summary, handle')),
                ('carried_chars', openclaw_web.sqlite.fields.Count(default=0, help_text='what would be saved, once for each later model call that read it again')),
                ('prompt_tokens', openclaw_web.sqlite.fields.Count(default=0, help_text='what model calls read; counted in the row without a tool')),
            ],
            options={
                'db_table': 'session_tools',
            },
        ),
        migrations.CreateModel(
            name='TrajectoryEvent',
            fields=[
                ('id', models.TextField(help_text='made of session, run, type, time and seq', primary_key=True, serialize=False)),
                ('session_id', models.TextField()),
                ('seq', openclaw_web.sqlite.fields.Count(help_text='within one attempt of a run')),
                ('run_id', models.TextField(default='')),
                ('type', models.TextField(help_text='session.started, context.compiled, tool.call, model.completed, ...')),
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
                ('seq', openclaw_web.sqlite.fields.Count(help_text='order of arrival in the store')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('kind', models.TextField(choices=[('session', 'Session'), ('user', 'User'), ('assistant', 'Assistant'), ('tool_result', 'Tool Result'), ('compaction', 'Compaction'), ('branch_summary', 'Branch Summary'), ('model_change', 'Model Change'), ('thinking_level_change', 'Thinking Level Change'), ('custom', 'Custom'), ('custom_message', 'Custom Message'), ('label', 'Label'), ('session_info', 'Session Info'), ('reset', 'Reset'), ('leaf', 'Leaf'), ('usage', 'Usage'), ('message', 'message with another role'), ('withheld', 'not kept: the sender opted out'), ('unknown', 'a type this version does not know, kept raw')])),
                ('turn_number', openclaw_web.sqlite.fields.Count(null=True)),
                ('is_active', models.BooleanField(default=True, help_text='on the branch the session ended with')),
                ('is_failed', models.BooleanField(default=False)),
                ('is_synthetic', models.BooleanField(default=False, help_text='delivery-mirror or gateway-injected')),
                ('model', models.TextField(null=True)),
                ('tool_name', models.TextField(null=True)),
                ('tool_call_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('input_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('output_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cache_read_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cache_write_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('total_tokens', openclaw_web.sqlite.fields.Count(null=True)),
                ('cost_usd', models.FloatField(null=True)),
                ('repeat_of', models.TextField(help_text='the session that has this record, which this one repeats', null=True)),
                ('trim_json', models.TextField(help_text='what event_json leaves out: see ledger.transcripts.trimming', null=True)),
                ('event_json', models.TextField()),
                ('full_zstd', models.BinaryField(help_text='the rests of the texts that are capped', null=True)),
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
                ('event_id', models.TextField(help_text="the record's id, or @<byte offset> when it has none")),
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
                ('snapshot_id', models.TextField(help_text="the compaction record's id")),
                ('reason', models.TextField()),
                ('event_count', openclaw_web.sqlite.fields.Count(help_text='records before it on its branch')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('metadata_json', models.TextField(help_text='summary, readFiles, modifiedFiles, firstKeptEntryId, tokensBefore, tokensAfter')),
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
