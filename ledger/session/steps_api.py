"""Steps of the runs of a session."""

from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Query
from pydantic import Field

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import Session, TrajectoryEvent
from . import steps

router = Operations("ledger_steps_api", tags=["ledger"])


class StepOut(table_schema(TrajectoryEvent)):
    about: dict[str, Any] = Field(
        description="times, usage and outcome, without texts; `systemPrompt` and `tools` are handles of artifacts"
    )

    @staticmethod
    def resolve_created_at(step):
        return step.created_at or None

    @staticmethod
    def resolve_about(step):
        return steps.read_step_facts(step)


@router.get("/agents/{agent}/sessions/{session_id}/steps", Page[StepOut], 404, 409, 503)
@agent_view_for("viewer")
def session_steps(request, agent, session_id: str, filters: Query[PageQuery]):
    """The runs of a session, step by step as measured by OpenClaw; earliest first."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    return page_to_json(steps.read_page(session, **filters.place))
