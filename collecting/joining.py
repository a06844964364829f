"""Joins new turns of the Reflection plugin with transcripts, and with the decisions, writes and samples about them."""

from agents.models import Agent
from datasets import turn_facts
from datasets.kinds import changed_turns
from gate.recording import log_import as gate_import
from guardian.recording import log_import as guardian_import
from ledger.rebuild import repeats
from openclaw_web import clock
from overview import summaries


def join_turns(agent: Agent) -> None:
    """Join the plugin's turns of an agent with those of transcripts, and what names them with its turn."""
    repeats.mark_repeats(agent.db)
    now = clock.now_ms()
    gate_import.rematch_turns(agent, since=now)
    guardian_import.rematch_turns(agent, since=now)
    turn_facts.mark_repeated(agent)
    changed_turns.follow_joined(agent)
    summaries.refresh(agent)
