"""Corrections and rules as the API and receipts of commands say them."""

from typing import Any

from ..models import BehaviorCorrection
from . import phrases, rules
from .rule_counts import RuleCounts


def correction_to_json(row: BehaviorCorrection) -> dict[str, Any]:
    """A correction."""
    return {
        "id": row.id,
        "audit_id": row.audit_id,
        "original_status": row.original_status,
        "original_fact": row.original_candidate_fact,
        "original_file": row.original_target_file,
        "corrected_status": row.corrected_status,
        "corrected_fact": row.corrected_candidate_fact,
        "corrected_file": row.corrected_target_file,
        "reason": row.correction_reason,
        "apply_to_future": row.apply_to_future,
        "pattern": row.correction_pattern,
        "name": row.name,
        "contains": phrases.read_pattern(row.correction_pattern or ""),
        "corrected_by": row.corrected_by,
        "corrected_at": row.corrected_at,
    }


def rule_to_json(found: RuleCounts) -> dict[str, Any]:
    """A rule with its numbers."""
    return correction_to_json(found.row) | {
        "is_on": found.is_on,
        "is_replaced": found.is_replaced,
        "switched_off_at": found.row.switched_off_at,
        "switched_off_by": found.row.switched_off_by,
        "acted": found.acted,
        "overruled": found.overruled,
    }


def check_fact(db: str, fact: str, file: str) -> dict[str, Any]:
    """What the rules say of a fact that is about to be written."""
    said = rules.find_ruling(db, fact=fact, target_file=file)
    if said is None:
        return {"status": "written", "fact": fact, "file": file, "rule_id": None, "reason": None}
    return {
        "status": said.status,
        "fact": said.fact,
        "file": said.target_file,
        "rule_id": said.rule_id,
        "reason": said.reason,
    }
