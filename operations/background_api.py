"""What an agent's databases hold beside sessions: work in the background, indexed memory, files of their own."""

from ninja import Query, Router

from agents.decorators import agent_view, needs
from openclaw_web.endpoints.schemas import Page, PageQuery, failures, listed

from . import background
from .background_schemas import DeliveryOut, FlowOut, IndexedFileOut, TaskOut, VfsEntryOut

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
    return listed(background.found(agent, background.BACKGROUND, "tasks", **filters.place))


@router.get(
    "/agents/{agent}/flows",
    operation_id="operations_background_api_flow_list",
    response={200: Page[FlowOut], **failures(404, 409)},
)
@agent_view
@needs("viewer")
def flow_list(request, agent, filters: Query[PageQuery]):
    """Flows, which are tasks that belong together; the newest first."""
    return listed(background.found(agent, background.BACKGROUND, "flows", **filters.place))


@router.get(
    "/agents/{agent}/deliveries",
    operation_id="operations_background_api_delivery_list",
    response={200: Page[DeliveryOut], **failures(404, 409)},
)
@agent_view
@needs("viewer")
def delivery_list(request, agent, filters: Query[PageQuery]):
    """Messages on their way out, the newest first; what they say and to whom is not read."""
    return listed(background.found(agent, background.BACKGROUND, "deliveries", **filters.place))


@router.get(
    "/agents/{agent}/memory-index",
    operation_id="operations_background_api_indexed_file_list",
    response={200: Page[IndexedFileOut], **failures(404, 409, 503)},
)
@agent_view
@needs("viewer")
def indexed_file_list(request, agent, filters: Query[PageQuery]):
    """Files of the memory index and in how many pieces they are; never their texts or embeddings."""
    return listed(background.found(agent, background.STORED, "memory", **filters.place))


@router.get(
    "/agents/{agent}/vfs",
    operation_id="operations_background_api_vfs_entry_list",
    response={200: Page[VfsEntryOut], **failures(404, 409, 503)},
)
@agent_view
@needs("viewer")
def vfs_entry_list(request, agent, filters: Query[PageQuery]):
    """Files that the agent's database holds, by name; `handle` is the artifact with the content."""
    return listed(background.found(agent, background.STORED, "files", **filters.place))
