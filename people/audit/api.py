"""The audit log as JSON."""

from dataclasses import replace
from typing import Any, Literal

from ninja import Field, Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import LARGEST_FIRST, SEGMENT, Page, TimeRangeQuery, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.pages.roles import needs

from ..models import AuditEntry
from . import entries
from .audit_list import AUDIT, SEGMENTS, shape

router = Operations("operations_audit_api", tags=["operations"])


class AuditQuery(TimeRangeQuery):
    segment: Literal[tuple(SEGMENTS.parts)] = Field("all", description=SEGMENT)  # type: ignore[valid-type]
    actor: str | None = Field(None, description="user name", max_length=150)
    action: Literal[tuple(entries.action_names())] | None = None  # type: ignore[valid-type]
    object_type: Literal[tuple(entries.OBJECTS)] | None = None  # type: ignore[valid-type]
    object_id: str | None = Field(None, max_length=600)
    agent: str | None = Field(None, max_length=56)
    sort: Literal["time", "-time"] = Field("-time", description=LARGEST_FIRST)


class AuditOut(table_schema(AuditEntry)):
    id: int
    detail: dict[str, Any]


@router.get("/operations/audit", Page[AuditOut], 409)
@needs("admin")
def audit_list(request, filters: Query[AuditQuery]):
    """The audit log: who did what, newest first."""
    listing = AUDIT.fits(request.user, **filters.criteria())
    page = replace(listing, rows=listing.rows.values()).page(**filters.place)
    return page_to_json(page, [shape(row) for row in page])
