"""The search in the API."""

from typing import Literal

from ninja import Query
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from . import find
from .query import parse

router = Operations("search_api", tags=["search"])


class SearchQuery(Schema):
    """The query, the order and the page."""

    q: str = Field(max_length=10_000, description="words, phrases in quotes, `-without`, `pre*`, `agent:`, `kind:`, …")
    sort: Literal["newest", "best"] = "newest"
    after: str = ""
    limit: int = Field(20, ge=1, le=200)


class HitOut(Schema):
    """A text that has the words."""

    kind: str
    agent_id: str
    created_at: int
    title: str
    address: str = Field(description="the page of its place")
    excerpt: str
    marks: list[tuple[int, int]] = Field(description="where the words begin and end in the excerpt")


class SearchOut(Schema):
    """Hits, and what the search did not cover."""

    items: list[HitOut]
    next: str | None
    is_partial: bool = Field(description="a limit ended the search: `next` continues it")
    behind: list[str] = Field(description="agents with texts that are not searched yet; empty texts are samples")


@router.get("/search", SearchOut, 409)
@needs("viewer")
def search(request, filters: Query[SearchQuery]):
    """Texts of all agents with these words."""
    limits = {"is_best": filters.sort == "best", "after": filters.after, "size": filters.limit}
    return find.to_json(find.search(parse(filters.q), **limits))
