"""Counts of reset and deleted sessions that imports left out, for pages with totals."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed

from .models import Agent
from .skipped_sources import Kind, Reason, SkippedItem


def store_omissions(agent_id: str, skipped: Iterable[SkippedItem]) -> None:
    """Store how many sessions an import of an agent left out.

    Each session counts once, however many files it has.
    """
    left_out: dict[str, set[str]] = {Reason.RESET: set(), Reason.DELETED: set()}
    for item in skipped:
        if item.kind == Kind.FILE and item.reason in left_out:
            left_out[item.reason].add(item.session_id or item.path)
    reset, deleted = len(left_out[Reason.RESET]), len(left_out[Reason.DELETED])
    agents = Agent.objects.filter(agent_id=agent_id)
    agents.exclude(reset_left_out_count=reset, deleted_left_out_count=deleted).update(
        reset_left_out_count=reset, deleted_left_out_count=deleted
    )


def describe_omissions(agent_id: str | None = None) -> str:
    """Say how many sessions are missing from an agent's totals, or from all.

    Empty when there are none.
    """
    agents = Agent.objects.all() if agent_id is None else Agent.objects.filter(agent_id=agent_id)
    counts = list(agents.values_list("reset_left_out_count", "deleted_left_out_count"))
    reset, deleted = (sum(numbers) for numbers in zip(*counts, strict=True)) if counts else (0, 0)
    parts = []
    if reset:
        parts.append(format_plural("%(count)s reset session", "%(count)s reset sessions", reset))
    if deleted:
        parts.append(format_plural("%(count)s deleted session", "%(count)s deleted sessions", deleted))
    return _("Not imported and in no total: %(what)s.") % {"what": listed(parts)} if parts else ""
