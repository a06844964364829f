"""API schemas of the findings in schedules and files."""

from typing import Literal

from pydantic import AliasPath, Field

from openclaw_web.endpoints.schemas import Page, PageQuery, Schema


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
