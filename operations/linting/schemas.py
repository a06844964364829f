"""What is wrong in schedules and files, in the JSON API."""

from typing import Literal

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Page, PageQuery


class LintQuery(PageQuery):
    limit: int = Field(100, ge=1, le=200, description="maximum number of files to check")


class FindingOut(Schema):
    kind: Literal["job", "file"] = Field(description="the prompt of a scheduled task, or a workspace file")
    id: str = Field(description="id of the task, or name of the file")
    name: str
    line: int = Field(alias="hit.line")
    rule: str = Field(alias="hit.rule")
    text: str = Field(alias="hit.text", description="the line, at most 200 characters")
    better: str = Field(alias="hit.better", description="what to write instead")


class LintPage(Page[FindingOut]):
    pass
