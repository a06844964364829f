"""Five weeks of writes to the demo's memory files, reported as by a plugin.

Two more changes of the files are not reported.
"""

import hashlib
from collections.abc import Iterator, Sequence

from django.conf import settings

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian.models import WriteGuardianAudit
from guardian.recording import api_import, unattributed_changes
from guardian.recording.schemas import MAX_WRITES, WriteIn
from guardian.services import store_version
from ledger.models import ConversationTurn

from .files import memory
from .gate_decisions import PASSING_REMARKS

PLUGIN = "plugin"
MODEL = "guard-mini"
KNOWN = "%s says so already."
NOT_LASTING = "Says nothing that will matter in another conversation."
NO_ANSWER = "The model did not answer within 30 seconds."
AROUND_MS = (-40_000, 25_000)  # the moments of a consolidation's lines in the plugin's log


def record_writes() -> None:
    """Store the writes of all agents of the demo, once."""
    for agent_id, memory_changes in memory.read_changes(settings.STATE_DIR).items():
        agent = Agent.objects.filter(agent_id=agent_id).first()
        if agent is None or _is_stored(agent):
            continue
        changes = list(memory.replay_changes(agent_id, memory_changes))
        _store_unreported(agent, [change for change in changes if not change.memory_change.turn])
        _record(agent, list(_build_writes(agent, [change for change in changes if change.memory_change.turn])))
        _record(agent, list(_build_refusals(agent, {memory_change.turn for memory_change in memory_changes})))


def _is_stored(agent):
    rows = WriteGuardianAudit.objects.using(agent.db)
    return rows.filter(origin=WriteGuardianAudit.Origin.RECORDED).exists()


def _store_unreported(agent, changes):
    """Store the versions after unreported changes, as an import on that day would."""
    for change in changes:
        memory_change = change.memory_change
        if memory_change.by == "consolidation":
            unattributed_changes.store_consolidations(agent.db, [memory_change.at_ms + offset for offset in AROUND_MS])
        store_version(agent.db, memory_change.file, change.after.encode(), modified_ms=memory_change.at_ms)


def _record(agent, writes: Sequence[WriteIn]):
    for start in range(0, len(writes), MAX_WRITES):
        api_import.record_reports(agent, writes[start : start + MAX_WRITES], by=PLUGIN)


def _build_writes(agent, changes: Sequence[memory.FileChange]) -> Iterator[WriteIn]:
    """Yield the writes of agent and plugin, and the plugin's refusals of known facts."""
    turns = ConversationTurn.objects.using(agent.db).in_bulk({change.memory_change.turn for change in changes})
    decisions = _find_decisions(agent.db, turns)
    for number, change in enumerate(changes):
        memory_change = change.memory_change
        fields = {
            "id": f"demo-write-{number}",
            "turn_id": memory_change.turn if memory_change.turn in turns else None,
            "decision_id": decisions.get(memory_change.turn) if memory_change.by == "plugin" else None,
            "session_id": memory_change.session_key,
            "target_file": memory_change.file,
            "candidate_fact": memory_change.fact,
            "created_at": memory_change.at_ms,
        }
        fields |= _build_model_fields(memory_change.turn) if memory_change.by == "plugin" else {}
        if change.after == change.before:
            yield WriteIn(**fields, status="refused", reason=KNOWN % memory_change.file)
        else:
            yield WriteIn(**fields, status="written", before=change.before, after=change.after)


def _build_refusals(agent, handled: set[str]) -> Iterator[WriteIn]:
    """Yield refusals of the other facts that memory_gate decided to remember.

    None of them was worth a line, or new.
    """
    rows = MemoryGateDecision.objects.using(agent.db).exclude(candidate_fact=None).exclude(turn_id__in=handled)
    rows = rows.exclude(turn_id=None).order_by("created_at", "id")
    for number, row in enumerate(rows):
        draws = hashlib.sha256(row.id.encode()).digest()
        target = f"{row.decision.removeprefix('UPDATE_')}.md"
        has_failed = not draws[0] % 24
        reason = NOT_LASTING if row.candidate_fact in PASSING_REMARKS else KNOWN % target
        yield WriteIn(
            id=f"demo-fact-{number}",
            turn_id=row.turn_id,
            decision_id=row.id,
            session_id=row.session_key,
            target_file=target,
            candidate_fact=row.candidate_fact,
            status="failed" if has_failed else "refused",
            reason=NO_ANSWER if has_failed else reason,
            created_at=row.created_at + (30_000 if has_failed else 1_500 + draws[1] * 10),
            **_build_model_fields(row.id),
        )


def _find_decisions(db, turns):
    rows = MemoryGateDecision.objects.using(db).filter(turn_id__in=list(turns)).exclude(candidate_fact=None)
    return dict(rows.values_list("turn_id", "id"))


def _build_model_fields(name):
    """The model, the duration and the steps of a question about a fact."""
    draws = hashlib.sha256(name.encode()).digest()
    return {"llm_model": MODEL, "llm_latency_ms": 900 + draws[2] * 9, "agent_steps": 2 + draws[3] % 2}
