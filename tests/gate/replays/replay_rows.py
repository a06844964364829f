"""Decisions with windows to replay; the endpoint is tests.llm_endpoint."""

from gate.models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import decision_store
from gate.recording.reports import Report, Source
from gate.recording.windows import Window
from gate.replays import replay_launch
from gate.replays.replay_request import ReplayRequest
from tests.factories import T0
from tests.gate.runner.judged_turns import DB, MINUTE, create_turns

NAMES = ("NO_WRITE", "UPDATE_USER")
# The pages, and what the form of a new replay sends.
LIST = "/agents/ada/gate/replays/"
NEW = f"{LIST}new/"
FORM = {"new_model": "other", "new_prompt": "Decide.", "limit": "100"}


def text_of(answer):
    """Returns the text of a page with each run of spaces as one."""
    return " ".join(answer.content.decode().split())


def create_decisions(count, *, names=NAMES, is_told=False, **columns):
    """Stores `count` turns, each with a decision `d0`, `d1`, ….

    Without `is_told` their windows are the turns before them.
    """
    return [
        store_decision(f"d{number}", turn, names[number % len(names)], is_told=is_told, number=number, **columns)
        for number, turn in enumerate(create_turns(count))
    ]


def store_decision(name, turn, decision="NO_WRITE", *, is_told=False, number=0, **columns):
    """Stores a decision on a turn."""
    window = Window((), turn.user_message_content, turn.agent_message_content) if is_told else None
    given = {
        "reason": "Small talk.",
        "candidate_fact": None if decision == "NO_WRITE" else "The user likes coffee.",
        "llm_model": "gate-1",
        "llm_latency_ms": 1_000 + number,
        "created_at": T0 + number * MINUTE + 2_000,
    }
    row = MemoryGateDecision(id=name, turn_id=turn.id, session_id=turn.session_id, decision=decision, **given | columns)
    decision_store.store_reports(DB, [Report(row=row, source=Source.API, window=window)])
    return MemoryGateDecision.objects.using(DB).get(id=name)


def lose_window(decision, *, db=DB):
    """Removes the window of a decision, as if the gate had never reported it."""
    MemoryGateDecision.objects.using(db).filter(id=decision.id).update(window_hash=None)


def run_replay(agent, **options):
    """Runs a replay in this process; returns its row and its job."""
    return replay_launch.run_here(agent, ReplayRequest(**{"model": "other", **options}), by="root")


def rows(db=DB):
    return GateReplayDecision.objects.using(db).order_by("replay", "number")


def replays(db=DB):
    return GateReplay.objects.using(db).order_by("created_at", "id")


def calls(db=DB):
    return GateCall.objects.using(db).order_by("created_at", "id")
