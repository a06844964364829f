"""Schemas of writes to memory files: their query, and a row of their list."""

from typing import Any

from pydantic import Field

from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from ..models import WriteGuardianAudit
from .audit_list import AuditFilters


class GuardianWriteQuery(list_query(AuditFilters)):
    pass


class GuardianWriteOut(table_schema(WriteGuardianAudit)):
    """One write to a memory file, without its diff."""

    sources: list[str] = Field(description="who told of it: `api`, `log`, `database`, `files`, `own`")

    @staticmethod
    def resolve_sources(row: Any) -> list[str]:
        """Return the words of the bits."""
        return [source.name.lower() for source in WriteGuardianAudit.Source if row.sources & source]
