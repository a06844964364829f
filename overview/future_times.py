"""Counts records and sessions in the future: a clock was wrong when they were written."""

from collections.abc import Iterable

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import databases
from ledger.models import Session, TranscriptEvent
from openclaw_web import clock
from openclaw_web.amounts import format_plural

from .models import AgentSummary

NO_COUNTS = {"future_session_count": 0, "future_record_count": 0}


def count_in_file(db: str) -> dict[str, int]:
    """Count the sessions and records in one agent's file that lie in the future."""
    now = clock.now_ms()
    return {
        "future_session_count": Session.objects.using(db).filter(last_activity_at__gt=now).count(),
        "future_record_count": TranscriptEvent.objects.using(db).filter(created_at__gt=now).count(),
    }


def count_future(summaries: Iterable[AgentSummary]) -> dict[str, int]:
    """Count the sessions and records of all agents that lie in the future.

    Only files of agents that were active in the future are opened.
    """
    total = dict(NO_COUNTS)
    for summary in summaries:
        if not summary.last_activity_at or not clock.is_future(summary.last_activity_at):
            continue
        try:
            counts = count_in_file(databases.get_alias(summary.agent_id))
        except (databases.UnusableAgent, DatabaseError):  # other problems report it
            continue
        total = {name: total[name] + count for name, count in counts.items()}
    return total


def describe_future(counts: dict[str, int]) -> str:
    """Return a sentence with these counts; empty when all are zero."""
    sessions, records = counts["future_session_count"], counts["future_record_count"]
    if not sessions and not records:
        return ""
    words = {
        "sessions": format_plural("%(count)s session", "%(count)s sessions", sessions),
        "records": format_plural("%(count)s record", "%(count)s records", records),
    }
    sentence = _("Times in the future: %(sessions)s, %(records)s. They count as now; a clock was wrong.")
    return sentence % words
