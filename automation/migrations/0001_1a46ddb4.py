import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='CronJob',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('name', models.TextField(default='')),
                ('enabled', models.BooleanField(default=True)),
                ('prompt', models.TextField(default='')),
                ('schedule_json', models.TextField(default='{}')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('next_run_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('job_json', models.TextField()),
            ],
            options={
                'db_table': 'cron_jobs',
                'indexes': [models.Index(fields=['agent_id', 'name', 'id'], name='idx_cron_agent')],
            },
        ),
        migrations.CreateModel(
            name='CronRunLog',
            fields=[
                ('pk', models.CompositePrimaryKey('job_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('job_id', models.TextField()),
                ('seq', openclaw_web.sqlite.fields.Count()),
                ('agent_id', models.TextField()),
                ('ts', openclaw_web.sqlite.fields.EpochMs()),
                ('status', models.TextField(default='')),
                ('error', models.TextField(default='')),
                ('summary', models.TextField(default='')),
                ('duration_ms', openclaw_web.sqlite.fields.Count(null=True)),
                ('session_id', models.TextField(null=True)),
                ('entry_json', models.TextField()),
            ],
            options={
                'db_table': 'cron_run_logs',
                'indexes': [models.Index(fields=['agent_id', 'ts'], name='idx_cron_run_ts'), models.Index(fields=['job_id', 'ts', 'seq'], name='idx_cron_run_job'), models.Index(fields=['session_id'], name='idx_cron_run_session')],
            },
        ),
        migrations.CreateModel(
            name='DeliveryQueueEntry',
            fields=[
                ('pk', models.CompositePrimaryKey('queue_name', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('queue_name', models.TextField()),
                ('id', models.TextField()),
                ('status', models.TextField(default='')),
                ('entry_kind', models.TextField(default='')),
                ('session_key', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('last_error', models.TextField(default='')),
                ('retry_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('last_attempt_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('enqueued_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('failed_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('agent_id', models.TextField()),
            ],
            options={
                'db_table': 'delivery_queue_entries',
                'indexes': [models.Index(fields=['agent_id', 'enqueued_at', 'queue_name', 'id'], name='idx_delivery_enqueued')],
            },
        ),
        migrations.CreateModel(
            name='FlowRun',
            fields=[
                ('flow_id', models.TextField(primary_key=True, serialize=False)),
                ('shape', models.TextField(default='')),
                ('owner_key', models.TextField(default='')),
                ('status', models.TextField(default='')),
                ('goal', models.TextField(default='')),
                ('current_step', models.TextField(default='')),
                ('blocked_summary', models.TextField(default='')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('ended_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('agent_id', models.TextField()),
            ],
            options={
                'db_table': 'flow_runs',
                'indexes': [models.Index(fields=['agent_id', 'created_at', 'flow_id'], name='idx_flow_created')],
            },
        ),
        migrations.CreateModel(
            name='SubagentRun',
            fields=[
                ('run_id', models.TextField(primary_key=True, serialize=False)),
                ('child_session_key', models.TextField()),
                ('requester_session_key', models.TextField(default='')),
                ('controller_session_key', models.TextField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('ended_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('cleanup_handled', models.BooleanField(default=False)),
                ('payload_json', models.TextField()),
                ('agent_id', models.TextField()),
            ],
            options={
                'db_table': 'subagent_runs',
                'indexes': [models.Index(fields=['child_session_key', 'created_at', 'run_id'], name='idx_subagent_child'), models.Index(fields=['requester_session_key', 'created_at', 'run_id'], name='idx_subagent_requester'), models.Index(fields=['agent_id', 'created_at', 'run_id'], name='idx_subagent_agent')],
            },
        ),
        migrations.CreateModel(
            name='TaskRun',
            fields=[
                ('task_id', models.TextField(primary_key=True, serialize=False)),
                ('runtime', models.TextField(default='')),
                ('task_kind', models.TextField(default='')),
                ('source_id', models.TextField(default='')),
                ('requester_session_key', models.TextField(default='')),
                ('child_session_key', models.TextField(default='')),
                ('parent_flow_id', models.TextField(default='')),
                ('parent_task_id', models.TextField(default='')),
                ('run_id', models.TextField(default='')),
                ('label', models.TextField(default='')),
                ('task', models.TextField(default='')),
                ('status', models.TextField(default='')),
                ('delivery_status', models.TextField(default='')),
                ('last_tool_name', models.TextField(default='')),
                ('error', models.TextField(default='')),
                ('progress_summary', models.TextField(default='')),
                ('terminal_summary', models.TextField(default='')),
                ('terminal_outcome', models.TextField(default='')),
                ('tool_use_count', openclaw_web.sqlite.fields.Count(default=0)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs(default=0)),
                ('started_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('ended_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('agent_id', models.TextField()),
            ],
            options={
                'db_table': 'task_runs',
                'indexes': [models.Index(fields=['agent_id', 'created_at', 'task_id'], name='idx_task_created')],
            },
        ),
    ]
