"""The sample of a write, made once."""

import hashlib

import orjson

from agents.models import Agent
from openclaw_web import clock

from .. import turn_facts
from ..models import DatasetSample
from . import bodies
from .seen import Seen

Status = DatasetSample.Status
TYPE = DatasetSample.Type.WRITE_GUARDIAN_DECISION
MANUAL, CORRECTION = "manual", "manual_correction"


def sample_id(agent_id: str, audit_id: str) -> str:
    """The id of a write's sample: always the same one, whatever people say of the write."""
    return hashlib.sha256("\n".join([agent_id, audit_id, "write_guardian"]).encode()).hexdigest()[:32]


def sample_of(agent: Agent, seen: Seen, *, status: str = Status.PENDING) -> DatasetSample:
    """The sample of a write, not stored yet. It comes with what people said or did about the write, for a reviewer."""
    right, is_right = bodies.known_right(seen), bodies.is_right(seen)
    return DatasetSample(
        id=sample_id(agent.agent_id, seen.audit.id),
        sample_type=TYPE,
        turn_id=seen.turn.id,
        decision_id=seen.decision.id if seen.decision else None,
        audit_id=seen.audit.id,
        session_id=seen.turn.session_id,
        content=orjson.dumps(bodies.content(seen)).decode(),
        annotation_status=status,
        guardian_label="corrected" if right else "correct" if is_right else None,
        guardian_corrected_output=orjson.dumps(right).decode() if right else None,
        collection_strategy=CORRECTION if right or is_right else MANUAL,
        created_at=clock.now_ms(),
        agent_id=agent.agent_id,
        turn_number=seen.turn.turn_number,
        **turn_facts.of_turn(agent.db, seen.turn),
    )
