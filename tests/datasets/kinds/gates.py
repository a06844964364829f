"""Gate decisions on stored turns, with the windows that the gate saw."""

from gate.models import MemoryGateDecision
from gate.recording import decision_store
from gate.recording.reports import Report, Source
from gate.recording.windows import Window
from tests.factories import T0

FACT = "prefers mornings"


def store_decision(name="d1", *, turn="s1:u2", window=None, db="agent_ada", **columns):
    """Store a decision on a turn.

    Without a `window` the gate saw the messages before the turn, and the turn.
    """
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


def make_window(*recent, user=None, reply=None):
    """A window of messages (role, text) and the texts of the turn."""
    return Window(
        tuple({"role": role, "message": text, "timestamp": T0} for role, text in recent), user=user, reply=reply
    )
