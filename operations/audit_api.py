"""The audit log as JSON."""

from datetime import date
from typing import Any

from django.http import QueryDict
from ninja import Field, Query, Router, Schema

from agents.decorators import needs
from agents.models import AuditEntry
from agents.schemas import PageQuery, listed, problems
from openclaw_web.paging import page_of

from . import audit_entries
from .audit_entries import AuditFilters

router = Router(tags=["operations"])


class AuditQuery(PageQuery):
    actor: str | None = Field(None, description="user name", max_length=150)
    action: str | None = Field(None, description="in the past tense: `signed_in`, `labelled`, `read`, …")
    object_type: str | None = Field(None, description="`session`, `sample`, `export`, `user`, …")
    object_id: str | None = Field(None, max_length=600)
    agent: str | None = Field(None, max_length=56)
    since: date | None = Field(None, description="first day, UTC")
    until: date | None = Field(None, description="last day, UTC")


class AuditOut(Schema):
    id: int
    at: int
    actor: str
    via: str
    action: str
    object_type: str
    object_id: str
    agent_id: str
    detail: dict[str, Any]


class AuditPage(Schema):
    items: list[AuditOut]
    next: str | None
    previous: str | None


@router.get("/operations/audit", response={200: AuditPage, **problems(409)})
@needs("admin")
def audit_list(request, filters: Query[AuditQuery]):
    """The audit log: who did what, the newest first."""
    asked = QueryDict(mutable=True)
    given = filters.dict(exclude={"after", "before", "limit"}, exclude_none=True)
    asked.update({name: str(value) for name, value in given.items()})
    form = AuditFilters(asked).checked()
    page = page_of(form.narrow(AuditEntry.objects.values()), order=form.order, **filters.place)
    return listed(page, [audit_entries.shape(row) for row in page])
