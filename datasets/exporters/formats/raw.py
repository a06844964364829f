"""Samples as they are stored, one JSON object each: the Reflection spec's `DatasetSampleRecord`, and our columns.

Who judged a sample is in no row. The content that a correction gives to a file is left out where it is that of another
file, or nothing new: whoever makes pairs of these rows would teach it.
"""

from typing import Any

from ..outcomes import Row
from ..samples import ExportSample, parse_loose_json

COLUMNS = (
    *("id", "sample_type", "agent_id", "session_id", "turn_id", "turn_number", "decision_id", "audit_id"),
    *("content", "output", "quality_score", "quality_factors"),
    *("annotation_status", "annotated_at", "annotation_notes", "reject_reason", "label_id"),
    *("gate_label", "gate_corrected_output", "guardian_label", "guardian_corrected_output"),
    *("privacy_checked", "contains_pii", "pii_redacted_content"),
    *("prompted_by", "reply_stop", "turn_traits", "repeat_of", "collection_strategy", "created_at"),
)
JSON = frozenset({"content", "quality_factors", "gate_corrected_output", "guardian_corrected_output"})
CORRECTED = "guardianCorrectedOutput"
FLAGS = frozenset({"privacy_checked", "contains_pii"})


def build_row(sample: ExportSample) -> Row:
    """All columns of a sample, JSON as values; what is no JSON stays a text."""
    stored = sample.stored or {}
    values = {_build_key(name): _read_value(name, stored.get(name)) for name in COLUMNS}
    if sample.misfit:
        output = {name: text for name, text in values[CORRECTED].items() if name != "content"}
        values[CORRECTED] = output | {"contentLeftOut": sample.misfit}
    return values


def _build_key(column):
    """`sample_type` as the spec and the API spell it: `sampleType`."""
    first, *others = column.split("_")
    return first + "".join(map(str.title, others))


def _read_value(column: str, value: Any) -> Any:
    if value is None:
        return None
    if column in FLAGS:
        return bool(value)
    if column not in JSON:
        return value
    try:
        return parse_loose_json(value)
    except ValueError:
        return value
