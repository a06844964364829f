"""Copies verdicts on decisions into the agents' files, for lists and statistics.

Rows of sample_labels are only ever added, in the order of their places: rows newer than the last copy are read again. A
copy that was interrupted, or lost by the restore of a backup, is completed by the next page that needs it.
"""

from agents.models import Agent
from gate import verdict_store
from gate.models import MemoryGateDecision
from openclaw_web.sqlite.fields import RowId

from ..kinds.current_verdicts import find_verdicts
from ..kinds.decision import DECISION
from ..models import SampleLabel

PIECE = 10_000  # labels of one call: no page waits for a hundred thousand


def copy_new(agent: Agent) -> bool:
    """Copy new verdicts on an agent's decisions; return whether all are copied now."""
    labels = SampleLabel.objects.annotate(place=RowId())
    last = labels.order_by("-place").values_list("place", flat=True).first() or 0
    before = verdict_store.read_label_place(agent.db)
    if before > last:  # another global file, as after a restore
        verdict_store.delete_all(agent.db)
        before = 0
    if before >= last:
        return True
    new = labels.filter(place__gt=before).order_by("place")
    piece = list(new.values_list("place", "sample__agent_id", "sample__decision_id")[:PIECE])
    place = piece[-1][0] if len(piece) == PIECE else max(last, piece[-1][0] if piece else 0)
    ids = {decision_id for _place, agent_id, decision_id in piece if decision_id and agent_id == agent.agent_id}
    return verdict_store.store_verdicts(agent.db, _read_verdicts(agent, ids), before=before, place=place) >= last


def _read_verdicts(agent, ids):
    """The verdicts in force on these decisions by id; None: no verdict."""
    rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=ids).only("id", "turn_id")
    known = find_verdicts(DECISION, agent, rows)
    right, wrong = verdict_store.Verdict.RIGHT, verdict_store.Verdict.WRONG
    words = {name: right if verdict.is_right else wrong for name, verdict in known.items()}
    return {name: words.get(name) for name in ids}
