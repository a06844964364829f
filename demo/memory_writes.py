"""Five weeks of writes to the memory files of the demo, told as a running plugin tells them; and two nobody told of."""

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
AROUND_MS = (-40_000, 25_000)  # of a consolidation, the lines in the plugin's log


def record_writes() -> None:
    """Record the writes of all agents of the demo, once."""
    for agent_id, kept in memory.read_changes(settings.STATE_DIR).items():
        agent = Agent.objects.filter(agent_id=agent_id).first()
        if agent is None or _is_told(agent):
            continue
        changes = list(memory.replay_changes(agent_id, kept))
        _keep_untold(agent, [change for change in changes if not change.kept.turn])
        _record(agent, list(_written(agent, [change for change in changes if change.kept.turn])))
        _record(agent, list(_refused(agent, {one.turn for one in kept})))


def _is_told(agent):
    rows = WriteGuardianAudit.objects.using(agent.db)
    return rows.filter(origin=WriteGuardianAudit.Origin.RECORDED).exists()


def _keep_untold(agent, changes):
    """What files held after changes that nobody told of, as an import on that day had kept it."""
    for change in changes:
        kept = change.kept
        if kept.by == "consolidation":
            unattributed_changes.store_consolidations(agent.db, [kept.at_ms + around for around in AROUND_MS])
        store_version(agent.db, kept.file, change.after.encode(), modified_ms=kept.at_ms)


def _record(agent, writes: Sequence[WriteIn]):
    for start in range(0, len(writes), MAX_WRITES):
        api_import.record_reports(agent, writes[start : start + MAX_WRITES], by=PLUGIN)


def _written(agent, changes: Sequence[memory.FileChange]) -> Iterator[WriteIn]:
    """What the agent and the plugin wrote, and what the plugin did not write because it is there."""
    turns = ConversationTurn.objects.using(agent.db).in_bulk({change.kept.turn for change in changes})
    decisions = _decisions(agent.db, turns)
    for number, change in enumerate(changes):
        kept = change.kept
        about = {
            "id": f"demo-write-{number}",
            "turn_id": kept.turn if kept.turn in turns else None,
            "decision_id": decisions.get(kept.turn) if kept.by == "plugin" else None,
            "session_id": kept.session_key,
            "target_file": kept.file,
            "candidate_fact": kept.fact,
            "created_at": kept.at_ms,
        }
        about |= _asked(kept.turn) if kept.by == "plugin" else {}
        if change.after == change.before:
            yield WriteIn(**about, status="refused", reason=KNOWN % kept.file)
        else:
            yield WriteIn(**about, status="written", before=change.before, after=change.after)


def _refused(agent, handled: set[str]) -> Iterator[WriteIn]:
    """What became of the other facts that memory_gate decided to keep: none of them was worth a line, or new."""
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
            **_asked(row.id),
        )


def _decisions(db, turns):
    rows = MemoryGateDecision.objects.using(db).filter(turn_id__in=list(turns)).exclude(candidate_fact=None)
    return dict(rows.values_list("turn_id", "id"))


def _asked(name):
    """What asking a model about a fact took."""
    draws = hashlib.sha256(name.encode()).digest()
    return {"llm_model": MODEL, "llm_latency_ms": 900 + draws[2] * 9, "agent_steps": 2 + draws[3] % 2}
