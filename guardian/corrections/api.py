"""API of corrections of writes, and of rules."""

from typing import Any

from django.core.exceptions import PermissionDenied
from ninja import Query, Status

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.lists.paging import page_of

from ..models import BehaviorCorrection
from . import correction_store, patterns, rule_trial, rules
from .rule_trial import RuleCounts
from .schemas import CheckIn, CheckOut, CorrectionIn, CorrectionOut, RuleOut, RuleSwitchIn


def correction_to_json(row: BehaviorCorrection) -> dict[str, Any]:
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
        "contains": patterns.read_pattern(row.correction_pattern or ""),
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


router = Operations("guardian_correcting_api", tags=["guardian"])


@router.post("/agents/{agent}/guardian/writes/{audit_id}/correction", {201: CorrectionOut}, 400, 404, 409, 503)
@agent_view_for("labeller")
def guardian_correct(request, agent, audit_id: str, body: CorrectionIn):
    """Say what a write should have been; nothing in a file changes.

    A later correction of the same write stands.

    A rule (`apply_to_future`) needs the role operator, and so does a correction that ends the rule of an earlier one.
    """
    if body.apply_to_future and not request.user.has_role("operator"):
        raise PermissionDenied
    may_end_rule = request.user.has_role("operator")
    row = correction_store.correct_write(
        agent, audit_id, by=request.user.username, may_end_rule=may_end_rule, **body.dict()
    )
    return Status(201, correction_to_json(row))


@router.get("/agents/{agent}/guardian/rules", Page[RuleOut], 404, 409, 503)
@agent_view_for("viewer")
def guardian_rule_list(request, agent, filters: Query[PageQuery]):
    """List rules, newest first.

    Where several match a fact, the newest that is on decides.
    """
    page = page_of(rules.find_rules(agent.db), order=rules.NEWEST_FIRST, **filters.place)
    return page_to_json(page, [rule_to_json(counts) for counts in rule_trial.read_rule_counts(agent.db, page)])


@router.post("/agents/{agent}/guardian/rules/check", CheckOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_rule_check(request, agent, body: CheckIn):
    """Check a fact against the rules before it is written into a file.

    The check stores nothing.
    """
    return check_fact(agent.db, body.fact, body.file)


@router.post("/agents/{agent}/guardian/rules/{rule_id}/switch", RuleOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_rule_switch(request, agent, rule_id: str, body: RuleSwitchIn):
    """Switch a rule off, or on again."""
    row = correction_store.switch_rule(agent, rule_id, on=body.is_on, by=request.user.username)
    return rule_to_json(rule_trial.read_rule_counts(agent.db, [row])[0])
