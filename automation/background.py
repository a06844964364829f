"""Background tasks, flows and deliveries that OpenClaw keeps in its state database."""

from django.utils.translation import gettext_lazy as _

from ledger.lists.stored_tables import StoredList, build_row
from openclaw_web.pages.formatting import ago, duration, number

from .models import DeliveryQueueEntry, FlowRun, TaskRun


def _task(one):
    took = max(0, one.ended_at - one.started_at) if one.ended_at and one.started_at else None
    note = one.terminal_summary or one.progress_summary or (one.task if one.label else "")
    cells = (duration(took), ago(one.created_at or None))
    return build_row(one.label or one.task or one.task_id, *cells, note=note, error=one.error, state=one.status)


def _flow(one):
    note = one.blocked_summary or one.current_step
    return build_row(
        one.goal or one.flow_id, ago(one.updated_at), ago(one.created_at or None), note=note, state=one.status
    )


def _delivery(one):
    note = " · ".join(word for word in (one.channel, one.session_key) if word)
    cells = (number(one.retry_count), ago(one.enqueued_at or None))
    return build_row(one.entry_kind or one.queue_name, *cells, note=note, error=one.last_error, state=one.status)


BACKGROUND = (
    StoredList(
        "tasks",
        _("Tasks"),
        (_("Status"), _("Duration"), _("Started")),
        True,
        _("Tasks that OpenClaw runs alongside conversations appear here."),
        ("-created_at", "-task_id"),
        lambda agent: TaskRun.objects.filter(agent_id=agent.agent_id),
        _task,
    ),
    StoredList(
        "flows",
        _("Flows"),
        (_("Status"), _("Changed"), _("Started")),
        True,
        _("Flows (groups of related tasks) appear here."),
        ("-created_at", "-flow_id"),
        lambda agent: FlowRun.objects.filter(agent_id=agent.agent_id),
        _flow,
    ),
    StoredList(
        "deliveries",
        _("Deliveries"),
        (_("Status"), _("Attempts"), _("Queued at")),
        True,
        _("Queued outgoing messages appear here. Their content and recipients are not read."),
        ("-enqueued_at", "-queue_name", "-id"),
        lambda agent: DeliveryQueueEntry.objects.filter(agent_id=agent.agent_id),
        _delivery,
    ),
)
