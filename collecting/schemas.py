"""API schemas of imports: their request, and the list of skipped files."""

from typing import Any, Literal

from django.conf import settings
from pydantic import Field

from agents.models import SkippedSource
from openclaw_web.endpoints.schemas import Body, PageQuery
from openclaw_web.endpoints.table_schemas import table_schema


class CollectIn(Body):
    include_deleted: bool = Field(False, description="also import deleted and reset sessions")

    def params(self) -> dict[str, Any]:
        """The parameters of the job, as the page has them: equal requests are one job."""
        source = {"source": str(settings.STATE_DIR)}
        return source | {"include_deleted": True} if self.include_deleted else source


class SkippedQuery(PageQuery):
    agent: str | None = Field(None, max_length=56)
    reason: str | None = Field(None, max_length=50, description="a code: not_transcript, no_records, secret, …")
    kind: Literal["file", "folder", "index_entry"] | None = None


class SkippedOut(table_schema(SkippedSource)):
    kind: str
    reason: str
