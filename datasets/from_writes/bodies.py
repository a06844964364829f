"""What a sample of a write holds: the Reflection spec's WriteGuardianSample.

Ours beside the spec's fields: whether there was a file (`fileExisted`), the reason of write_guardian
(`decisionReason`), the whole file afterwards (`writtenContent`; null: nothing was written), and in `userCorrection`
the fact, the file and the content that would have been right: that of the file which the correction names, null where
nobody knows what it held. So both halves of a preference pair are there: what was
written, and what should have been. `memoryGate` is the decision behind the write, in the shape of annotated turns.
"""

from typing import Any

from ..exporters.writes import REFUSED, WRITE
from .seen import Seen


def content(seen: Seen) -> dict[str, Any]:
    """The sample of a write, with what people said of it by now."""
    body: dict[str, Any] = {
        "type": WRITE,
        "candidateFact": seen.audit.candidate_fact,
        "targetFile": seen.audit.target_file,
        "currentFileContent": seen.before or "",
        "fileExisted": seen.before is not None,
        "decision": seen.status,
        "decisionReason": seen.audit.reason or "",
        "writtenContent": seen.after,
    }
    if found := correction(seen):
        body["userCorrection"] = found
    if seen.decision:
        body["memoryGate"] = {
            "output": {
                "decision": seen.decision.decision,
                "reason": seen.decision.reason,
                "candidateFact": seen.decision.candidate_fact,
            }
        }
    return body


def correction(seen: Seen) -> dict[str, Any] | None:
    """What people said or did about a write: the correction that stands, else its rollback; None: nothing."""
    if row := seen.correction:
        return {
            "originalDecision": seen.status,
            "correctedDecision": row.corrected_status,
            "reason": row.correction_reason,
            "correctedFact": row.corrected_candidate_fact,
            "correctedFile": row.corrected_target_file,
            "correctedContent": seen.right.content,
        }
    if seen.rollback:
        return {
            "originalDecision": seen.status,
            "correctedDecision": REFUSED,
            "reason": seen.rollback.reason,
            "correctedFact": None,
            "correctedFile": None,
            "correctedContent": seen.chosen if seen.rollback.way == seen.rollback.Way.CHOSEN else seen.before or "",
        }
    return None


def known_right(seen: Seen) -> dict[str, str] | None:
    """The same as a verdict says it (`guardian_corrected_output`); None where people said that the write was right."""
    found = correction(seen)
    if found is None or is_right(seen):
        return None
    return {
        "status": found["correctedDecision"],
        "targetFile": found["correctedFile"] or seen.audit.target_file or "",
        "reason": found["reason"],
    }


def is_right(seen: Seen) -> bool:
    """Whether a correction says that the write was right as it was: against a rule, or an earlier correction."""
    row = seen.correction
    said = row and (row.corrected_status, row.corrected_candidate_fact, row.corrected_target_file)
    return said == (seen.status, seen.audit.candidate_fact, seen.audit.target_file)
