"""Background work of an OpenClaw home: tasks, flows and deliveries.

Columns keep the names of OpenClaw's state database; derived rows, read again whenever that changes.
"""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PersonText, PlainText, SpeechText


class TaskRun(models.Model):
    """One task that is no run of a scheduled job."""

    task_id = PlainText(primary_key=True, shown="api")
    runtime = PlainText(default="", shown="api")
    task_kind = PlainText(default="", shown="api")
    source_id = PlainText(default="", shown="api")
    requester_session_key = PersonText(default="", shown="api")
    child_session_key = PersonText(default="", shown="api")
    parent_flow_id = PlainText(default="", shown="api")
    parent_task_id = PlainText(default="", shown="api")
    run_id = PlainText(default="", shown="api")
    label = SpeechText(default="", shown="api")
    task = SpeechText(default="", shown="api")
    status = PlainText(default="", shown="api")
    delivery_status = PlainText(default="", shown="api")
    last_tool_name = PlainText(default="", shown="api")
    error = SpeechText(default="", shown="api")
    progress_summary = SpeechText(default="", shown="api")
    terminal_summary = SpeechText(default="", shown="api")
    terminal_outcome = PlainText(default="", shown="api")
    tool_use_count = Count(default=0, shown="api")
    created_at = EpochMs(default=0, shown="api", help_text="0 when unknown")
    started_at = EpochMs(null=True, shown="api")
    ended_at = EpochMs(null=True, shown="api")
    # Ours.
    agent_id = PlainText(shown="")

    class Meta:
        db_table = "task_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "task_id"], name="idx_task_created")]

    def __str__(self):
        return self.label or self.task_id


class FlowRun(models.Model):
    """Tasks that belong together."""

    flow_id = PlainText(primary_key=True, shown="api")
    shape = PlainText(default="", shown="api")
    owner_key = PersonText(default="", shown="api")
    status = PlainText(default="", shown="api")
    goal = SpeechText(default="", shown="api")
    current_step = SpeechText(default="", shown="api")
    blocked_summary = SpeechText(default="", shown="api")
    created_at = EpochMs(default=0, shown="api", help_text="0 when unknown")
    updated_at = EpochMs(null=True, shown="api")
    ended_at = EpochMs(null=True, shown="api")
    # Ours.
    agent_id = PlainText(shown="")

    class Meta:
        db_table = "flow_runs"
        indexes = [models.Index(fields=["agent_id", "created_at", "flow_id"], name="idx_flow_created")]

    def __str__(self):
        return self.flow_id


class DeliveryQueueEntry(models.Model):
    """A message on its way out, and its status.

    Its text and its recipient are not stored.
    """

    pk = models.CompositePrimaryKey("queue_name", "id")
    queue_name = PlainText(shown="api")
    id = PlainText(shown="api")
    status = PlainText(default="", shown="api")
    entry_kind = PlainText(default="", shown="api")
    session_key = PersonText(default="", shown="api")
    channel = PlainText(default="", shown="api")
    last_error = SpeechText(default="", shown="api")
    retry_count = Count(default=0, shown="api")
    last_attempt_at = EpochMs(null=True, shown="api")
    enqueued_at = EpochMs(default=0, shown="api", help_text="0 when unknown")
    updated_at = EpochMs(null=True, shown="api")
    failed_at = EpochMs(null=True, shown="api")
    # Ours.
    agent_id = PlainText(shown="")

    class Meta:
        db_table = "delivery_queue_entries"
        indexes = [models.Index(fields=["agent_id", "enqueued_at", "queue_name", "id"], name="idx_delivery_enqueued")]

    def __str__(self):
        return f"{self.queue_name} {self.id}"
