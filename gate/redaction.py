"""Which columns of this app hold words: declared once, for whatever searches them or takes them out.

Every text and every blob of its tables is here; a test finds the one that is not.
"""

from collections.abc import Iterator
from enum import Enum

from django.db import models

from .models import (
    GateCall,
    GateDay,
    GateHour,
    GatePrompt,
    GateReceipt,
    GateReplay,
    GateReplayDecision,
    GateSessionSums,
    GateSumsState,
    GateVerdictDay,
    GateVerdictsState,
    GateWindow,
    MemoryGateDecision,
    MemoryGateStats,
)


class Kind(Enum):
    """What a column holds."""

    WORDS = "words"  # what people or the agent said, and what a model made of it
    WHO = "who"  # may name a person: keys of sessions, users of this site
    OWN = "own"  # words of whoever runs this site
    NONE = "none"  # ids, hashes, names of models, words of a closed list


WORDS, WHO, OWN, NONE = Kind.WORDS, Kind.WHO, Kind.OWN, Kind.NONE
COLUMNS: dict[type[models.Model], dict[str, Kind]] = {
    MemoryGateDecision: {
        "id": NONE,
        "turn_id": NONE,
        "session_id": WHO,  # the key where no session was found
        "decision": NONE,
        "reason": WORDS,
        "candidate_fact": WORDS,
        "llm_model": NONE,
        "raw_response": WORDS,  # or the handle of an artifact that holds it, of the kind gate_response
        "origin": NONE,
        "match": NONE,
        "session_key": WHO,
        "window_hash": NONE,
        "prompt_version": NONE,
        "verdict": NONE,
    },
    GateWindow: {"hash": NONE, "body_zstd": WORDS},  # packed; a window without some of its words has another hash
    GateReceipt: {"id": NONE, "decision_id": NONE, "body_sha256": NONE},
    GateCall: {
        "id": NONE,
        "turn_id": NONE,
        "session_id": WHO,
        "decision_id": NONE,
        "replay_id": NONE,
        "origin": NONE,
        "llm_model": NONE,
        "prompt_version": NONE,
        "window_hash": NONE,
        "outcome": NONE,
        "failure": NONE,
        "reason": WORDS,  # may quote the answer
        "raw_response": WORDS,
    },
    GatePrompt: {"id": NONE, "text": OWN},
    GateReplay: {
        "id": NONE,
        "llm_model": NONE,
        "prompt_version": NONE,
        "filters_json": WORDS,  # a keyword, or the key of a session
        "state": NONE,
        "started_by": WHO,
        "job_id": NONE,
    },
    GateReplayDecision: {
        "replay_id": NONE,
        "decision_id": NONE,
        "original": NONE,
        "outcome": NONE,
        "decision": NONE,
        "reason": WORDS,
        "candidate_fact": WORDS,
    },
    GateHour: {"llm_model": NONE, "prompt_version": NONE, "latency_json": NONE},
    GateDay: {"llm_model": NONE, "prompt_version": NONE, "latency_json": NONE},
    GateSumsState: {"id": NONE, "sessions_made": WHO},
    GateSessionSums: {"session_id": WHO, "latency_json": NONE},
    MemoryGateStats: {"date": NONE},
    GateVerdictDay: {"decision": NONE, "verdict": NONE, "llm_model": NONE, "prompt_version": NONE},
    GateVerdictsState: {"id": NONE},
}


def columns(*kinds: Kind) -> Iterator[tuple[type[models.Model], str]]:
    """The columns of these kinds, each with its table."""
    for model, kind_of in COLUMNS.items():
        yield from ((model, name) for name, kind in kind_of.items() if kind in kinds)
