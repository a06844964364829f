"""The standing of every agent's memory files, copied for the list of all agents."""

from django.db import transaction

from agents.models import Agent
from guardian.files import MEMORY_FILES
from guardian.standing import Standing, State, read_standings
from openclaw_web.clock import now_ms

from .models import MemoryStanding

# The worst first.
RANKS = (
    *(State.LEFT_OUT, State.WILL_BE_LEFT_OUT, State.UNEXPLAINED, State.CUT, State.NOT_KNOWN, State.LINKED),
    *(State.MISSING, State.NO_REPORT, State.NO_RECORD, State.IN_PROMPT),
)
COPIED = (
    *("file_name", "state", "raw_chars", "injected_chars", "lost_chars", "since", "session_id", "session_key"),
    *("record_hash", "is_equal", "reported_at"),
)


def refresh_standings(agent: Agent) -> None:
    """Refresh the rows of one agent from its records, its newest prompt and its files."""
    rows = [_build_row(agent, standing, now_ms()) for standing in read_standings(agent, MEMORY_FILES)]
    with transaction.atomic():
        MemoryStanding.objects.filter(agent_id=agent.agent_id).delete()
        MemoryStanding.objects.bulk_create(rows)


def _build_row(agent, standing: Standing, now):
    return MemoryStanding(
        id=f"{agent.agent_id}/{standing.file_name}",
        agent_id=agent.agent_id,
        rank=RANKS.index(standing.state),
        record_class=standing.record.origin_class if standing.record else "",
        noted_at=now,
        **{name: getattr(standing, name) for name in COPIED},
    )
