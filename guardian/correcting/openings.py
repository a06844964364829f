"""What the form of a correction says when it opens: what people, a rollback or a rule say by now."""

from dataclasses import dataclass
from typing import Any

from ..models import BehaviorCorrection, Rollback, WriteGuardianAudit
from . import phrases, rules, suggestions
from .correcting import Said, of_audit, original, says

Status = WriteGuardianAudit.Status


@dataclass(frozen=True, slots=True)
class Opening:
    """What a write should have been, as far as somebody or something says so by now, and why."""

    said: Said
    reason: str = ""


def open_form(db: str, audit: WriteGuardianAudit) -> Opening:
    """The correction that stands, else the rollback (refused, with its reason), else the rule the write breaks."""
    if corrections := of_audit(db, audit.id):
        return Opening(says(corrections[0]), corrections[0].correction_reason)
    was = original(db, audit)
    if audit.status == Status.ROLLED_BACK:
        reason = Rollback.objects.using(db).filter(audit_id=audit.id).values_list("reason", flat=True).first()
        return Opening(Said(Status.REFUSED.value, was.fact, was.file), reason or "")
    row = rules.all_of(db).filter(id=audit.rule_id).first() if audit.rule_id else None
    if row is None:
        return Opening(was)
    ruling = rules.said_by(row, fact=was.fact, target_file=was.file)
    return Opening(Said(ruling.status, ruling.fact, ruling.target_file), ruling.reason)


def open_rule(db: str, audit: WriteGuardianAudit) -> dict[str, Any]:
    """What the fields of a rule begin with: the rule that the write has, else the rarer words of its fact."""
    rule = next((row for row in of_audit(db, audit.id) if row.apply_to_future and row.correction_pattern), None)
    if rule is None:
        return {"contains": phrases.show_lines(suggestions.suggest_lines(db, audit.candidate_fact or ""))}
    return read_rule(rule)


def read_rule(rule: BehaviorCorrection) -> dict[str, Any]:
    """The fields of a stored rule: its words where it has any, else its pattern."""
    lines = phrases.read_pattern(rule.correction_pattern or "")
    if lines is None:
        return {"pattern": rule.correction_pattern, "name": rule.rule_name}
    return {"contains": phrases.show_lines(lines), "name": rule.rule_name}
