"""API of corrections of writes, and of rules."""

from django.core.exceptions import PermissionDenied
from ninja import Query, Status

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from . import api_detail, correction_store, rule_activation, rule_counts, rules
from .schemas import CheckIn, CheckOut, CorrectionIn, CorrectionOut, RuleOut, RuleSwitchIn

router = Operations("guardian_correcting_api", tags=["guardian"])


@router.post("/agents/{agent}/guardian/writes/{audit_id}/correction", {201: CorrectionOut}, 400, 404, 409, 503)
@agent_view
@needs("labeller")
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
    return Status(201, api_detail.correction_to_json(row))


@router.get("/agents/{agent}/guardian/rules", Page[RuleOut], 404, 409, 503)
@agent_view
@needs("viewer")
def guardian_rule_list(request, agent, filters: Query[PageQuery]):
    """List rules, newest first.

    Where several match a fact, the newest that is on decides.
    """
    page = page_of(rules.find_rules(agent.db), order=rules.NEWEST_FIRST, **filters.place)
    return page_to_json(
        page, [api_detail.rule_to_json(counts) for counts in rule_counts.read_rule_counts(agent.db, page)]
    )


@router.post("/agents/{agent}/guardian/rules/check", CheckOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rule_check(request, agent, body: CheckIn):
    """Check a fact against the rules before it is written into a file.

    The check stores nothing.
    """
    return api_detail.check_fact(agent.db, body.fact, body.file)


@router.post("/agents/{agent}/guardian/rules/{rule_id}/switch", RuleOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rule_switch(request, agent, rule_id: str, body: RuleSwitchIn):
    """Switch a rule off, or on again."""
    row = rule_activation.switch_rule(agent, rule_id, on=body.is_on, by=request.user.username)
    return api_detail.rule_to_json(rule_counts.read_rule_counts(agent.db, [row])[0])
