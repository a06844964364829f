"""Switches rules off and on.

Writes that name a rule keep it.
"""

from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log

from ..models import BehaviorCorrection
from . import patterns, rules
from .correction_store import find_by_write


class NoSuchRule(Refused):
    """The agent has no such rule."""

    status = 404


def switch_rule(agent: Agent, rule_id: str, *, on: bool, by: str) -> BehaviorCorrection:
    """Switch a rule on or off; it stays as it is when it is already.

    Raises NoSuchRule, and Refused for a rule whose write was corrected again, whose pattern is none or matches
    everything, and when too many are on.
    """
    with write_queue.agent_transaction(agent.db):
        row = rules.find_rules(agent.db).filter(id=rule_id).first()
        if row is None:
            raise NoSuchRule(_("This agent has no rule %(id)s.") % {"id": rule_id})
        if (row.switched_off_at is None) == on:
            return row
        if on:
            _check(agent.db, row)
        row.switched_off_at, row.switched_off_by = (None, None) if on else (clock.now_ms(), by)
        row.save(update_fields=["switched_off_at", "switched_off_by"])
    action = "rule_switched_on" if on else "rule_switched_off"
    log.record(by, action, object_type="rule", object_id=row.id, agent_id=agent.agent_id)
    return row


def _check(db, row):
    if find_by_write(db, row.audit_id)[0].id != row.id:
        raise Refused(_("The write of this rule was corrected again, and the later correction stands."))
    if patterns.matches_text(
        row.correction_pattern, ""
    ):  # of an imported database: ours were checked when they were made
        raise Refused(_("This pattern matches every fact. Say with words which facts the rule is about."))
    rules.check_room(db)
