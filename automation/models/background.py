"""Work in the background of an OpenClaw home besides schedules and sub-agents: tasks, flows and deliveries.

Columns keep the names of OpenClaw's state database; derived rows, read again whenever that changes.
"""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Plain, Who, Words


class TaskRun(models.Model):
    """One task that is no run of a scheduled job."""

    task_id = Plain(primary_key=True)
    runtime = Plain(default="")
    task_kind = Plain(default="")
    source_id = Plain(default="")
    requester_session_key = Who(default="")
    child_session_key = Who(default="")
    parent_flow_id = Plain(default="")
    parent_task_id = Plain(default="")
    run_id = Plain(default="")
    label = Words(default="")
    task = Words(default="")
    status = Plain(default="")
    delivery_status = Plain(default="")
    last_tool_name = Plain(default="")
    error = Words(default="")
    progress_summary = Words(default="")
    terminal_summary = Words(default="")
    terminal_outcome = Plain(default="")
    tool_use_count = Count(default=0)
    created_at = EpochMs(default=0)
    started_at = EpochMs(null=True)
    ended_at = EpochMs(null=True)
    # Ours.
    agent_id = Plain()

    class Meta:
        db_table = "task_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "task_id"], name="idx_task_created")]

    def __str__(self):
        return self.label or self.task_id


class FlowRun(models.Model):
    """Tasks that belong together."""

    flow_id = Plain(primary_key=True)
    shape = Plain(default="")
    owner_key = Who(default="")
    status = Plain(default="")
    goal = Words(default="")
    current_step = Words(default="")
    blocked_summary = Words(default="")
    created_at = EpochMs(default=0)
    updated_at = EpochMs(null=True)
    ended_at = EpochMs(null=True)
    # Ours.
    agent_id = Plain()

    class Meta:
        db_table = "flow_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "flow_id"], name="idx_flow_created")]

    def __str__(self):
        return self.flow_id


class DeliveryQueueEntry(models.Model):
    """A message on its way out: where it stands; what it says and to whom is not kept."""

    pk = models.CompositePrimaryKey("queue_name", "id")
    queue_name = Plain()
    id = Plain()
    status = Plain(default="")
    entry_kind = Plain(default="")
    session_key = Who(default="")
    channel = Plain(default="")
    last_error = Words(default="")
    retry_count = Count(default=0)
    last_attempt_at = EpochMs(null=True)
    enqueued_at = EpochMs(default=0)
    updated_at = EpochMs(null=True)
    failed_at = EpochMs(null=True)
    # Ours.
    agent_id = Plain()

    class Meta:
        db_table = "delivery_queue_entries"
        indexes = [models.Index(fields=["agent_id", "enqueued_at", "queue_name", "id"], name="idx_delivery_enqueued")]

    def __str__(self):
        return f"{self.queue_name} {self.id}"
