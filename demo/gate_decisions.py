"""Decisions of memory_gate in the demo: three weeks, with a change worth finding.

Six days before the end the prompt was changed, and since then passing remarks are remembered as facts: one of them does
harm (wrong_memory.py). On one afternoon the model's endpoint was down.
"""

import hashlib
import json
from collections.abc import Iterator

from django.conf import settings

from agents.models import Agent
from gate.models import GateCall, MemoryGateDecision
from gate.recording import api_import, decision_store
from gate.schemas import MAX_DECISIONS, DecisionIn
from ledger.models import ConversationTurn, Session

from .files import memory
from .moments import DAY

WEEKS_MS, CHANGED_MS, DOWN_MS = 21 * DAY, 6 * DAY, 3 * DAY
MODEL = "gate-mini"
EARLIER_PROMPT, BAD = "gate-7", "gate-8"
FACTS = {
    "main": {
        "UPDATE_USER": ("Prefers answers in one paragraph.", "Writes in Chinese when she is in a hurry."),
        "UPDATE_MEMORY": ("The wholesale price list is reviewed every Monday.", "The second oven is served in March."),
        "UPDATE_TOOLS": ("The till exports its day as CSV at 19:30.",),
        "UPDATE_SOUL": ("Never promise a delivery time that nobody confirmed.",),
        "UPDATE_IDENTITY": ("Customers know the assistant as Crumb.",),
    },
    "research": {
        "UPDATE_USER": ("Wants the method before the result.", "Reads papers on the train, without a connection."),
        "UPDATE_MEMORY": ("Runs are compared with seed 7.", "The group meets on Fridays."),
        "UPDATE_TOOLS": ("The cluster cancels jobs after twelve hours.",),
        "UPDATE_SOUL": ("Say how sure a figure is.",),
        "UPDATE_IDENTITY": ("Signs summaries as Margin.",),
    },
}
PASSING_REMARKS = (
    "Asked what time it is.",
    "Said thank you.",
    "Was looking for a file today.",
    "It rained this morning.",
)
NOTHING = ("A question about today; nothing to keep.", "Small talk.", "Known already.")
# How many turns in a thousand get each decision; the others get NO_WRITE.
SHARES = {"UPDATE_MEMORY": 60, "UPDATE_USER": 55, "UPDATE_TOOLS": 20, "UPDATE_SOUL": 8, "UPDATE_IDENTITY": 5}
SHARES_OF_BAD = SHARES | {"UPDATE_MEMORY": 260}


def record_decisions() -> None:
    """Store the decisions of all agents of the demo, once."""
    for agent in Agent.objects.filter(agent_id__in=FACTS):
        turns = ConversationTurn.objects.using(agent.db).active().order_by("-created_at")
        last = turns.first()
        if last is None or MemoryGateDecision.objects.using(agent.db).exists():
            continue
        chosen = list(turns.filter(created_at__gt=last.created_at - WEEKS_MS))
        answered = [turn for turn in chosen if turn.agent_message_id]
        down = [turn for turn in answered if _is_down(turn, last.created_at)]
        plugin_facts, keys = (
            find_plugin_facts(agent.agent_id),
            dict(Session.objects.using(agent.db).values_list("id", "session_key")),
        )
        decisions = [
            _build_decision(agent, turn, keys[turn.session_id], last.created_at, plugin_facts.get(turn.id))
            for turn in answered
            if turn not in down
        ]
        for batch in _split_batches(decisions):
            api_import.record_reports(agent, batch)
        decision_store.store_calls(agent.db, [_build_failure(turn) for turn in down])


def find_plugin_facts(agent_id: str) -> dict[str, memory.MemoryChange]:
    """The facts that the plugin wrote into memory files, or will write, by turn."""
    changes = memory.read_changes(settings.STATE_DIR).get(agent_id, ())
    return {change.turn: change for change in changes if change.by in ("plugin", "later")}


def _split_batches(decisions: list[DecisionIn]) -> Iterator[list[DecisionIn]]:
    for start in range(0, len(decisions), MAX_DECISIONS):
        yield decisions[start : start + MAX_DECISIONS]


def _is_down(turn, end):
    """Whether the endpoint was down at the turn: most of one day."""
    day = (end - DOWN_MS) // DAY * DAY
    return day + DAY // 4 <= turn.created_at < day + DAY


def _choose_decision(agent, draws, is_bad):
    """The decision and fact of a turn of which no fact was written down."""
    decision = _choose_by_share(int.from_bytes(draws[:2], "big") % 1_000, SHARES_OF_BAD if is_bad else SHARES)
    facts = FACTS[agent.agent_id].get(decision, ())
    if is_bad and decision == "UPDATE_MEMORY" and draws[2] % 4:
        facts = PASSING_REMARKS
    return decision, facts[draws[3] % len(facts)] if facts else None


def _build_decision(agent, turn, key, end, memory_change):
    draws = hashlib.sha256(turn.id.encode()).digest()
    is_bad = turn.created_at > end - CHANGED_MS
    decision, fact = _choose_decision(agent, draws, is_bad)
    if memory_change:
        decision, fact = f"UPDATE_{memory_change.file.removesuffix('.md')}", memory_change.fact
    reason = "Worth keeping." if fact else NOTHING[draws[4] % len(NOTHING)]
    took_ms = 350 + draws[5] * 4 + (6_000 if draws[6] > 250 else 0)
    prompt_tokens, completion_tokens = 500 + draws[7] * 3, 25 + draws[8] // 8
    answer = json.dumps({"decision": decision, "reason": reason, "candidateFact": fact}, ensure_ascii=False)
    return DecisionIn(
        id=f"demo-{turn.id}",
        turn_id=turn.id,
        session_id=key,
        decision=decision,
        reason=reason,
        candidate_fact=fact,
        llm_model=MODEL,
        llm_latency_ms=took_ms,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        raw_response=answer,
        cost_usd=round((prompt_tokens * 0.15 + completion_tokens * 0.6) / 1_000_000, 8),
        prompt_version=BAD if is_bad else EARLIER_PROMPT,
        created_at=turn.created_at + (turn.latency_ms or 0) + took_ms,
    )


def _choose_by_share(draw, shares):
    for decision, share in shares.items():
        draw -= share
        if draw < 0:
            return decision
    return "NO_WRITE"


def _build_failure(turn):
    return GateCall(
        id=f"demo-{turn.id}",
        turn_id=turn.id,
        session_id=turn.session_id,
        origin=MemoryGateDecision.Origin.RECORDED,
        llm_model=MODEL,
        prompt_version=BAD,
        outcome=GateCall.Outcome.FAILED,
        failure="http_error",
        reason="The endpoint answered with status 503.",
        llm_latency_ms=30_000,
        created_at=turn.created_at + (turn.latency_ms or 0) + 30_000,
    )
