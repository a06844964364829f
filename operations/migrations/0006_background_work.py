import agents.fields
from django.db import migrations, models


def texts(*names):
    return [(name, models.TextField(default="")) for name in names]


def moments(*names):
    return [(name, agents.fields.EpochMs(null=True)) for name in names]


class Migration(migrations.Migration):
    dependencies = [("operations", "0005_backups")]
    operations = [
        migrations.AlterField(
            model_name="cronrunlog",
            name="seq",
            field=agents.fields.Count(
                help_text="byte offset in the run log; of a run in a database, the moment it began"
            ),
        ),
        migrations.CreateModel(
            name="TaskRun",
            fields=[
                ("task_id", models.TextField(primary_key=True, serialize=False)),
                *texts("runtime", "task_kind", "source_id", "requester_session_key", "child_session_key"),
                *texts("parent_flow_id", "parent_task_id", "run_id", "label", "task", "status", "delivery_status"),
                *texts("last_tool_name", "error", "progress_summary", "terminal_summary", "terminal_outcome"),
                ("tool_use_count", agents.fields.Count(default=0)),
                ("created_at", agents.fields.EpochMs(default=0)),
                *moments("started_at", "ended_at"),
                ("agent_id", models.TextField()),
            ],
            options={
                "db_table": "task_runs",
                "indexes": [models.Index(fields=["agent_id", "created_at", "task_id"], name="idx_task_created")],
            },
        ),
        migrations.CreateModel(
            name="FlowRun",
            fields=[
                ("flow_id", models.TextField(primary_key=True, serialize=False)),
                *texts("shape", "owner_key", "status", "goal", "current_step", "blocked_summary"),
                ("created_at", agents.fields.EpochMs(default=0)),
                *moments("updated_at", "ended_at"),
                ("agent_id", models.TextField()),
            ],
            options={
                "db_table": "flow_runs",
                "indexes": [models.Index(fields=["agent_id", "created_at", "flow_id"], name="idx_flow_created")],
            },
        ),
        migrations.CreateModel(
            name="DeliveryQueueEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "queue_name", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("queue_name", models.TextField()),
                ("id", models.TextField()),
                *texts("status", "entry_kind", "session_key", "channel", "last_error"),
                ("retry_count", agents.fields.Count(default=0)),
                *moments("last_attempt_at"),
                ("enqueued_at", agents.fields.EpochMs(default=0)),
                *moments("updated_at", "failed_at"),
                ("agent_id", models.TextField()),
            ],
            options={
                "db_table": "delivery_queue_entries",
                "indexes": [models.Index(fields=["agent_id", "enqueued_at", "id"], name="idx_delivery_enqueued")],
            },
        ),
    ]
