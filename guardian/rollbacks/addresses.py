"""Where the pages of rollbacks are."""

from django.urls import reverse
from django.utils.http import urlencode

from agents.models import Agent


def detail(agent: Agent, audit_id: str) -> str:
    """The page of a write."""
    return reverse("guardian:audit_detail", args=[agent.agent_id, audit_id])


def rollback_page(agent: Agent, audit_id: str, hunk: int | None = None, *, is_done: bool = False) -> str:
    """The preview of a rollback, or with `is_done` where it is asked for. `hunk` counts from 0; None: all of them."""
    page = reverse(f"guardian:rollback{'_do' if is_done else ''}", args=[agent.agent_id, audit_id])
    return page if hunk is None else f"{page}?{urlencode({'hunk': hunk + 1})}"


def hand_over_page(agent: Agent, audit_id: str, hunk: int | None = None) -> str:
    """Where a rollback is handed to the agent."""
    page = reverse("guardian:rollback_hand_over", args=[agent.agent_id, audit_id])
    return page if hunk is None else f"{page}?{urlencode({'hunk': hunk + 1})}"


def session_page(agent: Agent, session_id: str | None = None, query=None) -> str:
    """Where the rollback of a session is asked for; without one, the list of writes."""
    if session_id is None:
        return reverse("guardian:audit_list", args=[agent.agent_id])
    page = reverse("guardian:session_rollback_do", args=[agent.agent_id, session_id])
    return f"{page}?{query.urlencode()}" if query else page
