"""Clearing the artifact store, and the lint of collected prompts and files."""

from ninja import Query, Router, Status

from agents.decorators import agent_view, needs
from openclaw_web.endpoints.schemas import failures, listed

from . import clearing, linting
from .artifacts_schemas import ClearingIn, LintPage, LintQuery
from .schemas import JobOut

router = Router(tags=["artifacts"])
ONLY_COUNT = ClearingIn()


@router.post(
    "/operations/artifacts/gc",
    operation_id="operations_artifacts_api_artifact_gc",
    response={202: JobOut, **failures(400, 409)},
)
@needs("admin")
def artifact_gc(request, wanted: ClearingIn = ONLY_COUNT):
    """Remove contents that nothing refers to, or count what would go; answers the job that does it."""
    age = clearing.seconds(wanted.older_than)
    return Status(202, clearing.start(older_than=age, is_dry_run=wanted.dry_run, by=request.user.username))


@router.get(
    "/agents/{agent}/lint",
    operation_id="operations_artifacts_api_lint_list",
    response={200: LintPage, **failures(404, 409, 503)},
)
@agent_view
@needs("viewer")
def lint_list(request, agent, filters: Query[LintQuery]):
    """Lines of collected prompts and files that would pour whole outputs into a context, file by file."""
    looked = linting.page(agent, **filters.place)
    return listed(looked.files, looked.findings)
