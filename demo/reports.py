"""Stores the reports of plugins in the demo: decisions, calls, writes, versions of memory files, a replay."""

from agents.models import Agent
from gate.models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import api_import as gate_import
from gate.recording import decision_store
from gate.schemas import MAX_DECISIONS, DecisionIn
from guardian.recording import api_import as guardian_import
from guardian.recording import snapshot_matching
from guardian.recording.schemas import MAX_WRITES, WriteIn
from guardian.services import store_version

from .recording import Recording

PLUGIN = "plugin"


def record_reports(agent: Agent, recording: Recording) -> None:
    """Store all reports about an agent, once."""
    db, agent_id = agent.db, agent.agent_id
    if MemoryGateDecision.objects.using(db).exists():
        return
    for consolidation in recording.read_rows("consolidations", agent_id):
        snapshot_matching.store_consolidations(db, consolidation["moments"])
    for version in recording.read_rows("versions", agent_id):
        store_version(db, version["file"], version["text"].encode(), modified_ms=version["modified_ms"])
    decisions = [DecisionIn(**row) for row in recording.read_rows("decisions", agent_id)]
    for start in range(0, len(decisions), MAX_DECISIONS):
        gate_import.record_reports(agent, decisions[start : start + MAX_DECISIONS])
    writes = [WriteIn(**row) for row in recording.read_rows("writes", agent_id)]
    for start in range(0, len(writes), MAX_WRITES):
        guardian_import.record_reports(agent, writes[start : start + MAX_WRITES], by=PLUGIN)
    for model, name in ((GateReplay, "replays"), (GateReplayDecision, "replay_decisions")):
        model.objects.using(db).bulk_create([model(**row) for row in recording.read_rows(name, agent_id)])
    decision_store.store_calls(db, [GateCall(**row) for row in recording.read_rows("calls", agent_id)])
