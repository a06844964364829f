"""Samples as a flat table for spreadsheets: texts, judgments and where they come from."""

from ..outcomes import Row
from ..samples import ExportSample
from . import gate, metadata

STORED = (
    *("sample_type", "created_at", "annotation_status", "annotated_at", "annotation_notes"),
    *("prompted_by", "reply_stop", "collection_strategy"),
)
COLUMNS = (
    *metadata.PLACE_COLUMNS,
    *STORED,
    *("context", "user_message", "agent_reply", "edited_reply"),
    *("quality_score", "memory_gate_decision", "candidate_fact", "memory_gate_reason"),
    *("gate_label", "guardian_label"),
)


def build_row(sample: ExportSample) -> Row:
    """One sample; a cell is empty where nothing is known."""
    stored = sample.stored or {}
    cells = {
        **metadata.build_place(sample),
        **{name: stored.get(name) for name in (*STORED, "gate_label", "guardian_label")},
        "context": gate.format_lines(sample.context),
        "user_message": sample.user_text,
        "agent_reply": sample.agent_reply,
        "edited_reply": sample.edited_reply,
        **metadata.build_judgement(sample),
        "memory_gate_reason": sample.gate.reason if sample.gate else None,
    }
    return {name: cells[name] for name in COLUMNS}
