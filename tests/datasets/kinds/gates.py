"""Decisions of a gate on turns that are in the store, with the windows that it saw."""

from gate.models import MemoryGateDecision
from gate.recording import decision_store
from gate.recording.reports import Report, Source
from gate.recording.windows import Window
from tests.factories import T0

FACT = "prefers mornings"


def decide(name="d1", *, turn="s1:u2", window=None, db="agent_ada", **columns):
    """Store a decision on a turn; without a `window` the gate saw what stands before the turn, and the turn."""
    known = {
        "session_id": "s1",
        "decision": "UPDATE_USER",
        "reason": "A stable preference.",
        "candidate_fact": FACT,
        "llm_model": "gate-1",
        "created_at": T0 + 9_000,
    }
    row = MemoryGateDecision(id=name, turn_id=turn, **known | columns)
    decision_store.store_reports(db, [Report(row=row, source=Source.API, window=window)])
    return MemoryGateDecision.objects.using(db).get(id=name)


def saw(*recent, user=None, reply=None):
    """A window of messages (role, text), and of what the gate was given of the turn."""
    return Window(
        tuple({"role": role, "message": text, "timestamp": T0} for role, text in recent), user=user, reply=reply
    )
