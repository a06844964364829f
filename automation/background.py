"""Background tasks, flows and deliveries that OpenClaw keeps in its state database."""

from django.utils.translation import gettext_lazy as _

from ledger.lists.stored_tables import StoredList, build_row
from openclaw_web.pages.formatting import ago, duration, number

from .models import DeliveryQueueEntry, FlowRun, TaskRun


def _build_task_row(task):
    took = max(0, task.ended_at - task.started_at) if task.ended_at and task.started_at else None
    note = task.terminal_summary or task.progress_summary or (task.task if task.label else "")
    cells = (duration(took), ago(task.created_at or None))
    return build_row(task.label or task.task or task.task_id, *cells, note=note, error=task.error, state=task.status)


def _build_flow_row(flow):
    note = flow.blocked_summary or flow.current_step
    return build_row(
        flow.goal or flow.flow_id, ago(flow.updated_at), ago(flow.created_at or None), note=note, state=flow.status
    )


def _build_delivery_row(entry):
    note = " · ".join(word for word in (entry.channel, entry.session_key) if word)
    cells = (number(entry.retry_count), ago(entry.enqueued_at or None))
    return build_row(
        entry.entry_kind or entry.queue_name, *cells, note=note, error=entry.last_error, state=entry.status
    )


BACKGROUND = (
    StoredList(
        "tasks",
        _("Tasks"),
        (_("Status"), _("Duration"), _("Started")),
        True,
        _("Tasks that OpenClaw runs alongside conversations appear here."),
        ("-created_at", "-task_id"),
        lambda agent: TaskRun.objects.filter(agent_id=agent.agent_id),
        _build_task_row,
    ),
    StoredList(
        "flows",
        _("Flows"),
        (_("Status"), _("Changed"), _("Started")),
        True,
        _("Flows (groups of related tasks) appear here."),
        ("-created_at", "-flow_id"),
        lambda agent: FlowRun.objects.filter(agent_id=agent.agent_id),
        _build_flow_row,
    ),
    StoredList(
        "deliveries",
        _("Deliveries"),
        (_("Status"), _("Attempts"), _("Queued at")),
        True,
        _("Queued outgoing messages appear here. Their content and recipients are not read."),
        ("-enqueued_at", "-queue_name", "-id"),
        lambda agent: DeliveryQueueEntry.objects.filter(agent_id=agent.agent_id),
        _build_delivery_row,
    ),
)
