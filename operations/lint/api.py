"""API of the findings in schedules and files."""

from typing import Literal

from ninja import Query
from pydantic import AliasPath, Field

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, Schema, page_to_json

from . import findings


class LintQuery(PageQuery):
    limit: int = Field(100, ge=1, le=200, description="maximum number of files to check")


class FindingOut(Schema):
    kind: Literal["job", "file"] = Field(description="the prompt of a scheduled task, or a workspace file")
    id: str = Field(description="id of the task, or name of the file")
    name: str
    line: int = Field(validation_alias=AliasPath("hit", "line"))
    rule: str = Field(validation_alias=AliasPath("hit", "rule"))
    text: str = Field(validation_alias=AliasPath("hit", "text"), description="the line, at most 200 characters")
    better: str = Field(validation_alias=AliasPath("hit", "better"), description="what to write instead")


class LintPage(Page[FindingOut]):
    pass


router = Operations("operations_artifacts_api", tags=["artifacts"])


@router.get("/agents/{agent}/lint", LintPage, 404, 409, 503)
@agent_view_for("viewer")
def lint_list(request, agent, filters: Query[LintQuery]):
    """Lines of imported prompts and files that would put whole outputs into a context.

    They are listed by file.
    """
    result = findings.read_page(agent, **filters.place)
    return page_to_json(result.files, result.findings)
