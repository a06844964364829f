"""Work in the background of an OpenClaw home besides schedules and sub-agents: tasks, flows and deliveries.

Columns keep the names of OpenClaw's state database; derived rows, read again whenever that changes.
"""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs


class TaskRun(models.Model):
    """One task that is no run of a scheduled job."""

    task_id = models.TextField(primary_key=True)
    runtime = models.TextField(default="")
    task_kind = models.TextField(default="")
    source_id = models.TextField(default="")
    requester_session_key = models.TextField(default="")
    child_session_key = models.TextField(default="")
    parent_flow_id = models.TextField(default="")
    parent_task_id = models.TextField(default="")
    run_id = models.TextField(default="")
    label = models.TextField(default="")
    task = models.TextField(default="")
    status = models.TextField(default="")
    delivery_status = models.TextField(default="")
    last_tool_name = models.TextField(default="")
    error = models.TextField(default="")
    progress_summary = models.TextField(default="")
    terminal_summary = models.TextField(default="")
    terminal_outcome = models.TextField(default="")
    tool_use_count = Count(default=0)
    created_at = EpochMs(default=0)
    started_at = EpochMs(null=True)
    ended_at = EpochMs(null=True)
    # Ours.
    agent_id = models.TextField()

    class Meta:
        db_table = "task_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "task_id"], name="idx_task_created")]

    def __str__(self):
        return self.label or self.task_id


class FlowRun(models.Model):
    """Tasks that belong together."""

    flow_id = models.TextField(primary_key=True)
    shape = models.TextField(default="")
    owner_key = models.TextField(default="")
    status = models.TextField(default="")
    goal = models.TextField(default="")
    current_step = models.TextField(default="")
    blocked_summary = models.TextField(default="")
    created_at = EpochMs(default=0)
    updated_at = EpochMs(null=True)
    ended_at = EpochMs(null=True)
    # Ours.
    agent_id = models.TextField()

    class Meta:
        db_table = "flow_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "flow_id"], name="idx_flow_created")]

    def __str__(self):
        return self.flow_id


class DeliveryQueueEntry(models.Model):
    """A message on its way out: where it stands; what it says and to whom is not kept."""

    pk = models.CompositePrimaryKey("queue_name", "id")
    queue_name = models.TextField()
    id = models.TextField()
    status = models.TextField(default="")
    entry_kind = models.TextField(default="")
    session_key = models.TextField(default="")
    channel = models.TextField(default="")
    last_error = models.TextField(default="")
    retry_count = Count(default=0)
    last_attempt_at = EpochMs(null=True)
    enqueued_at = EpochMs(default=0)
    updated_at = EpochMs(null=True)
    failed_at = EpochMs(null=True)
    # Ours.
    agent_id = models.TextField()

    class Meta:
        db_table = "delivery_queue_entries"
        indexes = [models.Index(fields=["agent_id", "enqueued_at", "queue_name", "id"], name="idx_delivery_enqueued")]

    def __str__(self):
        return f"{self.queue_name} {self.id}"
