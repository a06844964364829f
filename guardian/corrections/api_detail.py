"""Corrections and rules in the format of the API and of receipts."""

from typing import Any

from ..models import BehaviorCorrection
from . import phrases, rules
from .rule_counts import RuleCounts


def correction_to_json(row: BehaviorCorrection) -> dict[str, Any]:
    """Return a correction in the format of the API."""
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


def rule_to_json(counts: RuleCounts) -> dict[str, Any]:
    """Return a rule with its numbers in the format of the API."""
    return correction_to_json(counts.row) | {
        "is_on": counts.is_on,
        "is_replaced": counts.is_replaced,
        "switched_off_at": counts.row.switched_off_at,
        "switched_off_by": counts.row.switched_off_by,
        "acted": counts.acted,
        "overruled": counts.overruled,
    }


def check_fact(db: str, fact: str, file: str) -> dict[str, Any]:
    """Return the ruling on a fact that is about to be written."""
    ruling = rules.find_ruling(db, fact=fact, target_file=file)
    if ruling is None:
        return {"status": "written", "fact": fact, "file": file, "rule_id": None, "reason": None}
    return {
        "status": ruling.status,
        "fact": ruling.fact,
        "file": ruling.target_file,
        "rule_id": ruling.rule_id,
        "reason": ruling.reason,
    }
