"""Background work over the JSON API."""

from ninja import Query, Router

from agents.decorators import agent_view
from ledger.lists import stored
from openclaw_web.endpoints.schemas import Page, PageQuery, failures, listed
from openclaw_web.pages.doors import needs

from . import background as automation_background
from .background_schemas import DeliveryOut, FlowOut, TaskOut

router = Router(tags=["schedules"])


@router.get(
    "/agents/{agent}/tasks",
    operation_id="operations_background_api_task_list",
    response={200: Page[TaskOut], **failures(404, 409)},
)
@agent_view
@needs("viewer")
def task_list(request, agent, filters: Query[PageQuery]):
    """Tasks that are no runs of scheduled jobs, the newest first."""
    return listed(stored.found(agent, automation_background.BACKGROUND, "tasks", **filters.place))


@router.get(
    "/agents/{agent}/flows",
    operation_id="operations_background_api_flow_list",
    response={200: Page[FlowOut], **failures(404, 409)},
)
@agent_view
@needs("viewer")
def flow_list(request, agent, filters: Query[PageQuery]):
    """Flows, which are tasks that belong together; the newest first."""
    return listed(stored.found(agent, automation_background.BACKGROUND, "flows", **filters.place))


@router.get(
    "/agents/{agent}/deliveries",
    operation_id="operations_background_api_delivery_list",
    response={200: Page[DeliveryOut], **failures(404, 409)},
)
@agent_view
@needs("viewer")
def delivery_list(request, agent, filters: Query[PageQuery]):
    """Messages on their way out, the newest first; what they say and to whom is not read."""
    return listed(stored.found(agent, automation_background.BACKGROUND, "deliveries", **filters.place))
