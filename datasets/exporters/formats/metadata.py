"""Where a row comes from: columns of texts beside the ones that trainers read."""

from ..changes import ENVELOPE_REMOVED, IMAGES_DROPPED, Changes
from ..samples import ENVELOPE, IMAGES, ExportSample

# Trainers give these names a meaning of their own; a column of ours by such a name would change or stop a training.
RESERVED = frozenset(
    {
        "text",
        "messages",
        "prompt",
        "completion",
        "chosen",
        "rejected",
        "label",
        "tools",
        "system",
        "images",
        "input_ids",
        "labels",
        "chat_template_kwargs",
    }
)
TOLD = {ENVELOPE: ENVELOPE_REMOVED, IMAGES: IMAGES_DROPPED}
PLACE = ("sample_id", "agent_id", "session_id", "turn_number")
JUDGEMENT = ("quality_score", "memory_gate_decision", "candidate_fact")


def place(sample: ExportSample) -> dict[str, str]:
    """Which sample, and where it was said."""
    return {
        "sample_id": sample.sample_id,
        "agent_id": sample.agent_id,
        "session_id": sample.session_id,
        "turn_number": str(sample.turn_number),
    }


def judgement(sample: ExportSample) -> dict[str, str]:
    """What is known about it; an empty text where nothing is."""
    gate = sample.gate
    return {
        "quality_score": "" if sample.quality_score is None else str(sample.quality_score),
        "memory_gate_decision": gate.decision if gate else "",
        "candidate_fact": gate.fact if gate else "",
    }


def told(sample: ExportSample) -> Changes:
    """What was left out of the words of its turn before they came here."""
    return frozenset(TOLD[name] for name in sample.traits & TOLD.keys())
