"""Verdicts on the gate's newest decisions, and a replay by a larger model.

The replay uses the earlier prompt.
"""

import hashlib
import json

from agents.models import Agent
from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.kinds.kind import RIGHT, WRONG
from gate.models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import decision_store
from gate.replays import decision_selection
from gate.replays.replay_request import ReplayRequest
from openclaw_web.errors import Refused

from .gate_decisions import EARLIER_PROMPT, FACTS, PASSING_REMARKS, find_plugin_facts

ID, MODEL, COUNT = "demo-replay", "gate-large", 60
JUDGED, FLIPPED = 3, 4  # one in so many decisions
NOTHING = "Nothing that will matter in another conversation."
Decision = MemoryGateDecision.Decision


def record_replay(*, by: str) -> None:
    """Judge some of each agent's newest decisions, and store a replay of them, once."""
    for agent in Agent.objects.filter(agent_id__in=FACTS).order_by("agent_id"):
        if GateReplay.objects.using(agent.db).exists():
            continue
        request = ReplayRequest(model=MODEL, limit=COUNT)
        chosen = decision_selection.select_decisions(agent, request)
        decisions = MemoryGateDecision.objects.using(agent.db).in_bulk([row.id for row in chosen.rows])
        rows = [decisions[row.id] for row in chosen.rows]
        plugin_facts = find_plugin_facts(agent.agent_id)  # some of these are wrong, which is another story
        for row in rows:
            if row.turn_id not in plugin_facts and not _draw_number(row, 9) % JUDGED:
                _judge_decision(agent, row, by)
        if rows:
            _store_replay(agent.db, rows, request.chosen, by)


def _judge_decision(agent, row, by):
    """Judge a decision: passing remarks should not be remembered; all others were right."""
    is_wrong = row.candidate_fact in PASSING_REMARKS
    correction = Correction(Decision.NO_WRITE, reason=NOTHING) if is_wrong else None
    try:
        verdict_service.give_verdict(
            DECISION, agent, row.id, WRONG if is_wrong else RIGHT, by=by, correction=correction
        )
    except Refused:  # for example a turn that is a copy of another: it stays without a verdict
        return


def _store_replay(db, rows, chosen, by):
    replayed = [_replay_decision(row, number) for number, row in enumerate(rows, 1)]
    at = max(row.created_at for row in rows) + 3_600_000
    replay = GateReplay(
        id=ID, llm_model=MODEL, prompt_version=EARLIER_PROMPT, chosen=chosen, state=GateReplay.State.FINISHED,
        total=len(rows), decided=len(rows), agreed=sum(decision.is_same for decision in replayed),
        started_by=by, created_at=at,
    )  # fmt: skip
    replay.save(using=db, force_insert=True)
    for number, decision in enumerate(replayed):
        decision.created_at = at + number * 1_500
    GateReplayDecision.objects.using(db).bulk_create(replayed)
    decision_store.store_calls(db, [_build_call(row, decision) for row, decision in zip(rows, replayed, strict=True)])


def _replay_decision(row, number):
    """The other gate's decision on the same turn."""
    decision, fact, reason = row.decision, row.candidate_fact, row.reason
    if fact in PASSING_REMARKS or (fact and not _draw_number(row, 10) % FLIPPED):
        decision, fact, reason = Decision.NO_WRITE, None, NOTHING
    prompt_tokens, completion_tokens = 500 + _draw_number(row, 7) * 3, 30 + _draw_number(row, 8) // 8
    return GateReplayDecision(
        replay_id=ID, decision_id=row.id, number=number, original=row.decision,
        outcome=GateReplayDecision.Outcome.DECIDED, decision=decision, is_same=decision == row.decision,
        reason=reason, candidate_fact=fact, llm_latency_ms=700 + _draw_number(row, 11) * 6, prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost_usd=round((prompt_tokens * 1.25 + completion_tokens * 5) / 1_000_000, 8),
    )  # fmt: skip


def _build_call(row, decision):
    answer = {"decision": decision.decision, "reason": decision.reason, "candidateFact": decision.candidate_fact}
    return GateCall(
        id=f"{ID}-{decision.number}", turn_id=row.turn_id, session_id=row.session_id, decision_id=row.id, replay_id=ID,
        origin=MemoryGateDecision.Origin.OWN, llm_model=MODEL, prompt_version=EARLIER_PROMPT,
        outcome=GateCall.Outcome.DECIDED, llm_latency_ms=decision.llm_latency_ms, prompt_tokens=decision.prompt_tokens,
        completion_tokens=decision.completion_tokens,
        reserved_tokens=decision.prompt_tokens + decision.completion_tokens,
        cost_usd=decision.cost_usd, created_at=decision.created_at,
        raw_response=json.dumps(answer, ensure_ascii=False),
    )  # fmt: skip


def _draw_number(row, place):
    """A number from 0 to 255 that belongs to a decision."""
    return hashlib.sha256(row.id.encode()).digest()[place]
