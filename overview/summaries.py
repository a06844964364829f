"""Rows that pages compare agents with, computed again from each agent's own file."""

from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Sum

from agents import services as agents
from agents.models import Agent
from ledger.models import RejectedRecord, Session, SessionDay
from ledger.transcripts import day_sums
from ledger.transcripts.rows import TOTALS
from ledger.transcripts.storing import UNKNOWN_ENVELOPE

from .models import AgentDailyStat, AgentSummary

SUMMED = (*TOTALS, "turn_count", "record_count")


def refresh(agent: Agent, *, collected_at: int | None = None) -> None:
    """Bring the global sums of one agent up to what its file holds."""
    day_sums.settle_turns(agent.db)
    days, summary = of_file(agent)
    if collected_at:
        summary["last_collected_at"] = collected_at
    with transaction.atomic():
        AgentDailyStat.objects.filter(agent_id=agent.agent_id).delete()
        AgentDailyStat.objects.bulk_create(days)
        AgentSummary.objects.update_or_create(agent_id=agent.agent_id, defaults=summary)
    agents.refresh_database_row(agent)


def last_import() -> int | None:
    """When something of any agent was imported last."""
    return AgentSummary.objects.aggregate(last=Max("last_collected_at"))["last"]


def of_file(agent: Agent) -> tuple[list[AgentDailyStat], dict[str, Any]]:
    """What the agent's own file adds up to: rows by day, not saved, and the columns of its summary."""
    return _days(agent), _summary(agent)


def _days(agent):
    sums = {f"sum_{name}": Sum(name) for name in SUMMED}
    days = SessionDay.objects.using(agent.db).values("date").annotate(session_count=Count("session_id"), **sums)
    return [
        AgentDailyStat(
            agent_id=agent.agent_id,
            date=day["date"],
            session_count=day["session_count"],
            **{name: day[f"sum_{name}"] for name in SUMMED},
        )
        for day in days.order_by("date")
    ]


def _summary(agent):
    rejected = RejectedRecord.objects.using(agent.db)
    unknown = rejected.filter(reason=UNKNOWN_ENVELOPE).count()
    total = Session.objects.using(agent.db).aggregate(
        sessions=Count("id"),
        turns=Sum("turn_count"),
        errors=Sum("error_count"),
        tokens=Sum("total_tokens"),
        cost=Sum("cost_usd"),
        unpriced=Sum("unpriced_tokens"),
        last=Max("last_activity_at"),
    )
    return {
        "session_count": total["sessions"],
        "turn_count": total["turns"] or 0,
        "error_count": total["errors"] or 0,
        "total_tokens": total["tokens"] or 0,
        "cost_usd": total["cost"],
        "unpriced_tokens": total["unpriced"] or 0,
        "rejected_count": rejected.count() - unknown,
        "unknown_envelope_count": unknown,
        "last_activity_at": total["last"],
    }
