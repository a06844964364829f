"""The audit log as JSON."""

from dataclasses import replace
from typing import Any, Literal

from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query
from openclaw_web.pages.roles import needs

from ..models import AuditEntry
from . import entries
from .audit_list import AUDIT, AuditFilters, shape

router = Operations("operations_audit_api", tags=["operations"])


class AuditQuery(list_query(AuditFilters)):
    action: Literal[tuple(entries.action_names())] | None = None  # type: ignore[valid-type]


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
