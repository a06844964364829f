"""API of background work."""

from ninja import Query

from agents.decorators import agent_view_for
from ledger.lists import stored_tables
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json

from . import background as automation_background
from .background_schemas import DeliveryOut, FlowOut, TaskOut

router = Operations("operations_background_api", tags=["schedules"])


@router.get("/agents/{agent}/tasks", Page[TaskOut], 404, 409)
@agent_view_for("viewer")
def task_list(request, agent, filters: Query[PageQuery]):
    """Background tasks that are not runs of scheduled tasks, newest first."""
    return page_to_json(stored_tables.read_rows(agent, automation_background.BACKGROUND, "tasks", **filters.place))


@router.get("/agents/{agent}/flows", Page[FlowOut], 404, 409)
@agent_view_for("viewer")
def flow_list(request, agent, filters: Query[PageQuery]):
    """Flows, which are tasks that belong together; newest first."""
    return page_to_json(stored_tables.read_rows(agent, automation_background.BACKGROUND, "flows", **filters.place))


@router.get("/agents/{agent}/deliveries", Page[DeliveryOut], 404, 409)
@agent_view_for("viewer")
def delivery_list(request, agent, filters: Query[PageQuery]):
    """Outgoing messages, newest first; their texts and recipients are not imported."""
    return page_to_json(stored_tables.read_rows(agent, automation_background.BACKGROUND, "deliveries", **filters.place))
