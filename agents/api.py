"""API of agents."""

from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from .decorators import agent_view_for
from .models import Agent
from .schemas import AgentOut

router = Operations("agents_api", tags=["agents"])


@router.get("/agents", Page[AgentOut], 409)
@needs("viewer")
def agent_list(request, filters: Query[PageQuery]):
    """All agents, by id."""
    agents = Agent.objects.select_related("database")
    return page_to_json(page_of(agents, order=("agent_id",), **filters.place))


@router.get("/agents/{agent}", AgentOut, 404)
@agent_view_for("viewer")
def agent_detail(request, agent):
    """An agent and its database."""
    return agent
