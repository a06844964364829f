"""Which agents exist."""

from ninja import Query, Router

from openclaw_web.endpoints.schemas import Page, PageQuery, failures, listed
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.doors import needs

from .decorators import agent_view
from .models import Agent
from .schemas import AgentOut

router = Router(tags=["agents"])


@router.get("/agents", operation_id="agents_api_agent_list", response={200: Page[AgentOut], **failures(409)})
@needs("viewer")
def agent_list(request, filters: Query[PageQuery]):
    """Every agent, by id."""
    agents = Agent.objects.select_related("database")
    return listed(page_of(agents, order=("agent_id",), **filters.place))


@router.get("/agents/{agent}", operation_id="agents_api_agent_detail", response={200: AgentOut, **failures(404)})
@agent_view
@needs("viewer")
def agent_detail(request, agent):
    """One agent and the file that holds what it did."""
    return agent
