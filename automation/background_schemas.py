"""API schemas of background work."""

from openclaw_web.endpoints.table_schemas import table_schema

from .models import DeliveryQueueEntry, FlowRun, TaskRun


class TaskOut(table_schema(TaskRun)):
    pass


class FlowOut(table_schema(FlowRun)):
    pass


class DeliveryOut(table_schema(DeliveryQueueEntry)):
    pass
