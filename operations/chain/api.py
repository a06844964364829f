"""The chain in the API."""

from typing import Any, Literal

from django.http import Http404
from ninja import Query
from pydantic import Field

from agents import services as agents
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from .chains import OF_AGENT, build_chain, to_json

router = Operations("chain_api", tags=["chain"])


class ChainQuery(Schema):
    """The start of a chain."""

    kind: Literal[
        "session", "turn", "decision", "write", "line", "verdict", "sample", "release", "row", "event", "artifact"
    ]
    id: str = Field(description="its id; of a line `FILE:number`, of a row `export:side:number`")
    agent: str = Field("", description="of all but verdicts, samples, releases and rows")


class ChainStep(Schema):
    """A step of a chain."""

    step: str
    is_start: bool
    reason: str | None = Field(description="why it has no items")
    items: list[dict[str, Any]] = Field(description="`id`, `title`, `address` of the page, `at`")


class ChainOut(Schema):
    """A chain: ten steps, from who said it to who downloaded it."""

    steps: list[ChainStep]


@router.get("/chain", ChainOut, 404, 409)
@needs("viewer")
def chain(request, start: Query[ChainQuery]):
    """Everything that leads to a thing, and everything that came of it."""
    if bool(start.agent) != (start.kind in OF_AGENT):
        raise Http404
    agent = agents.get(start.agent) if start.agent else None
    return {"steps": to_json(build_chain(start.kind, start.id, agent))}
