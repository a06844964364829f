"""Captures new rows of one agent, where that is switched on."""

from collections.abc import Callable

from django.conf import settings

from agents.models import Agent

from ..models import EpisodeCapture
from . import receipts, switches, transcripts

CAPABILITY = "episodes"
SOURCES: dict[str, Callable[[Agent, EpisodeCapture], int]] = {
    switches.TRANSCRIPTS: transcripts.capture_transcripts,
    switches.SCHEDULES: receipts.capture_schedules,
    switches.WRITES: receipts.capture_writes,
    switches.JOBS: receipts.capture_jobs,
}


def capture_agent(agent: Agent) -> dict[str, int]:
    """Append the events of rows that are new; return their number by source.

    Empty where capture is off, or the capability is disabled. It may be stopped anywhere and run again.
    """
    if CAPABILITY in settings.DISABLED:
        return {}
    capture = switches.read_capture(agent.db)
    if not capture.is_on:
        return {}
    return {name: capture_source(agent, capture) for name, capture_source in SOURCES.items()}
