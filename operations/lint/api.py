"""API of the findings in schedules and files."""

from ninja import Query

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import page_to_json
from openclaw_web.pages.roles import needs

from . import findings
from .schemas import LintPage, LintQuery

router = Operations("operations_artifacts_api", tags=["artifacts"])


@router.get("/agents/{agent}/lint", LintPage, 404, 409, 503)
@agent_view
@needs("viewer")
def lint_list(request, agent, filters: Query[LintQuery]):
    """Lines of imported prompts and files that would put whole outputs into a context.

    They are listed by file.
    """
    result = findings.read_page(agent, **filters.place)
    return page_to_json(result.files, result.findings)
