"""Decisions with windows to be made again; the endpoint is tests.llm_endpoint."""

from gate.models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import decision_store
from gate.recording.reports import Report, Source
from gate.recording.windows import Window
from gate.replays import replay_launch
from gate.replays.replay_request import ReplayRequest
from tests.factories import T0
from tests.gate.runner.judged import DB, MINUTE, talk

NAMES = ("NO_WRITE", "UPDATE_USER")
# The pages, and what the form of a new replay sends.
LIST = "/agents/ada/gate/replays/"
NEW = f"{LIST}new/"
FORM = {"new_model": "other", "new_prompt": "Decide.", "limit": "100"}


def text_of(answer):
    """A page with every run of spaces as one."""
    return " ".join(answer.content.decode().split())


def decided(count, *, names=NAMES, is_told=False, **columns):
    """So many turns, each with a decision `d0`, `d1`, …; without `is_told` their windows are the turns before them."""
    return [
        decide(f"d{number}", turn, names[number % len(names)], is_told=is_told, number=number, **columns)
        for number, turn in enumerate(talk(count))
    ]


def decide(name, turn, decision="NO_WRITE", *, is_told=False, number=0, **columns):
    """Store a decision on a turn."""
    window = Window((), turn.user_message_content, turn.agent_message_content) if is_told else None
    known = {
        "reason": "Small talk.",
        "candidate_fact": None if decision == "NO_WRITE" else "The user likes coffee.",
        "llm_model": "gate-1",
        "llm_latency_ms": 1_000 + number,
        "created_at": T0 + number * MINUTE + 2_000,
    }
    row = MemoryGateDecision(id=name, turn_id=turn.id, session_id=turn.session_id, decision=decision, **known | columns)
    decision_store.store_reports(DB, [Report(row=row, source=Source.API, window=window)])
    return MemoryGateDecision.objects.using(DB).get(id=name)


def lose_window(decision, *, db=DB):
    """What this gate saw was never told."""
    MemoryGateDecision.objects.using(db).filter(id=decision.id).update(window_hash=None)


def replay(agent, **wanted):
    """A replay in this process: its row and its job."""
    return replay_launch.run_here(agent, ReplayRequest(**{"model": "other", **wanted}), by="root")


def rows(db=DB):
    return GateReplayDecision.objects.using(db).order_by("replay", "number")


def replays(db=DB):
    return GateReplay.objects.using(db).order_by("created_at", "id")


def calls(db=DB):
    return GateCall.objects.using(db).order_by("created_at", "id")
