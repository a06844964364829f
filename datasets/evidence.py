"""The fact that a sample is about, and the message that the fact comes from."""

from agents import databases
from ledger.session.evidence import Evidence, read_evidence

from .models import DatasetSample
from .review import parts
from .sample_texts import GATE_TYPES, WRITE


def read_fact(sample: DatasetSample) -> str:
    """The fact that a sample of a write or a decision is about; empty: none.

    It is the title of the sample.
    """
    if sample.sample_type == WRITE:
        fact = sample.body.get("candidateFact")
        return fact if isinstance(fact, str) else ""
    gate = parts.read_gate_part(sample.body) if sample.sample_type in GATE_TYPES else None
    return gate["fact"] if gate else ""


def find_evidence(sample: DatasetSample) -> Evidence | None:
    """The message that a sample comes from; None where the agent's transcripts cannot be read."""
    if (db := databases.find_alias(sample.agent_id)) is None:
        return None
    is_turn = sample.sample_type == DatasetSample.Type.ANNOTATED_TURN  # its sample holds the earlier messages
    return read_evidence(db, sample, neighbours=not is_turn)
