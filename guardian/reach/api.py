"""Who was told a line, in the API."""

from typing import Literal

from django.shortcuts import get_object_or_404
from pydantic import Field

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema

from ..models import WriteGuardianAudit
from .contexts import find_reach
from .replies import find_replies
from .subject import list_lines

router = Operations("guardian_reach_api", tags=["guardian"])


class ContextOut(Schema):
    """A turn that had the line in its context."""

    turn_id: str
    session_id: str
    turn_number: int
    created_at: int
    way: Literal["tool", "report", "time"] = Field(description="`tool` and `report` are proofs, `time` is probable")
    tool: str


class RepeatingReply(Schema):
    """A reply that repeats the line."""

    session_id: str
    turn_number: int | None
    address: str
    is_told: bool = Field(description="whether its turn is among those that were told")


class ReachOut(Schema):
    """Who was told the lines of a write."""

    lines: list[str]
    spans: list[tuple[int, int | None]] = Field(description="from when to when a line stood in the file")
    turns: list[ContextOut]
    not_told: dict[str, int] = Field(description="turns by reason: `left_out`, `cut`, `other_session`, `other_time`")
    replies: list[RepeatingReply]
    is_cut: bool = Field(description="there are more turns than were looked at")


@router.get("/agents/{agent}/guardian/writes/{audit_id}/reach", ReachOut, 404, 409, 503)
@agent_view_for("viewer")
def reach(request, agent, audit_id: str):
    """Who was told the lines of a write, and the replies that repeat them."""
    write = get_object_or_404(WriteGuardianAudit.objects.using(agent.db), id=audit_id)
    lines = list_lines(write)
    line_reach = find_reach(agent, write.target_file or "", lines)
    turns = [
        {"turn_id": each.turn.id, "session_id": each.turn.session_id, "turn_number": each.turn.turn_number}
        | {"created_at": each.turn.created_at, "way": each.way, "tool": each.tool}
        for each in line_reach.contexts
    ]
    replies = [
        {"session_id": reply.session_id, "turn_number": reply.turn_number}
        | {"address": reply.hit.item.href, "is_told": reply.is_told}
        for reply in find_replies(agent, write.target_file or "", lines)
    ]
    facts = {"lines": lines, "spans": line_reach.spans, "turns": turns, "not_told": dict(line_reach.not_told)}
    return facts | {"replies": replies, "is_cut": line_reach.is_cut}
