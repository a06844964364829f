"""API schemas of imports: their request, and the list of skipped files."""

from typing import Any

from django.conf import settings
from pydantic import Field

from agents.models import SkippedSource
from openclaw_web.endpoints.schemas import Body
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .skipped_list import SkippedFilters


class CollectIn(Body):
    include_deleted: bool = Field(False, description="also import deleted and reset sessions")

    def params(self) -> dict[str, Any]:
        """The parameters of the job, as the page has them: equal requests are one job."""
        source = {"source": str(settings.STATE_DIR)}
        return source | {"include_deleted": True} if self.include_deleted else source


class SkippedQuery(list_query(SkippedFilters)):
    # Also codes of other versions, which the page has no words for.
    reason: str | None = Field(None, max_length=50, description="a code: not_transcript, no_records, secret, …")


class SkippedOut(table_schema(SkippedSource)):
    kind: str
    reason: str
