"""Where a row comes from: columns of texts beside the ones that trainers read."""

from ..samples import ExportSample

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
