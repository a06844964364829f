"""Stores corrections: statements of what a write should have been.

No stored correction is ever changed; the last one stands. With a pattern, a correction is a rule for facts to come
(rules.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import write_queue
from people.audit import log

from ..files import LONGEST_FACT, MEMORY_FILES
from ..models import BehaviorCorrection, Rollback, WriteGuardianAudit
from . import patterns, rules
from .rules import get_write, is_withheld

UNUSABLE = re.compile("[\0\ud800-\udfff]")  # NUL and halves of characters, which no database takes
Status = WriteGuardianAudit.Status
STATUSES = (Status.WRITTEN.value, Status.REFUSED.value)
# The last correction of a person of this site, before imported ones: an agent may have written those.
STANDING = (F("imported_from").asc(nulls_first=True), "-corrected_at", "-id")


@dataclass(frozen=True, slots=True)
class WriteState:
    """State of a write: its status, fact and file.

    It is what a write was, or should have been. A refused fact stays out of every file.
    """

    status: str
    fact: str
    file: str

    def is_other_than(self, other: "WriteState") -> bool:
        """Whether something else would be in a file.

        Of what is refused, fact and file make no difference.
        """
        if self.status == other.status == Status.REFUSED:
            return False
        return self != other


def correct_write(agent: Agent, audit_id: str, *, by: str, **fields: Any) -> BehaviorCorrection:
    """Store a correction of a write and record it in the audit log.

    The other arguments are those of `add_correction`. Raises NoSuchWrite, and Refused as `add_correction` does.
    """
    audit = get_write(agent.db, audit_id)
    with write_queue.agent_transaction(agent.db):
        row = add_correction(agent, audit, by=by, **fields)
    log_correction(agent, row)
    return row


def log_correction(agent: Agent, row: BehaviorCorrection) -> None:
    """Record a stored correction in the audit log."""
    details = {"object_id": row.audit_id, "agent_id": agent.agent_id, "status": row.corrected_status}
    log.record(row.corrected_by, "write_corrected", object_type="write", **details)


def add_correction(
    agent: Agent,
    audit: WriteGuardianAudit,
    *,
    status: str,
    fact: str | None = None,
    file: str | None = None,
    reason: str,
    apply_to_future: bool = False,
    pattern: str = "",
    contains: Sequence[Sequence[str]] = (),
    name: str = "",
    by: str,
    correction_id: str = "",
    may_end_rule: bool = True,
) -> BehaviorCorrection:
    """Store what a write should have been, in the caller's transaction.

    A fact or file that is left out stays as it was.

    With `apply_to_future` it is a rule, called `name`, for facts that contain all lines of `contains`, or that match
    `pattern`; without either the proposed pattern is taken. A rule of an earlier correction of the write ends.

    Raises Refused for what is no correction, when it says what stands already, for patterns that are none or do not
    match their own fact, for more rules than can be, while the words of the write are withheld, and when it would end
    a rule for somebody who may not (`may_end_rule`).
    """
    check_correctable(agent.db, audit)
    if not may_end_rule and rules.find_active_rules(agent.db).filter(audit_id=audit.id).exists():
        raise Refused(
            _("A rule was created from this write. Ask an operator to correct the write or to turn the rule off.")
        )
    _check_sent(fact or "", reason, f"{pattern}{name}")
    original_state = get_original_state(agent.db, audit)
    state = WriteState(status, (fact or "").strip() or original_state.fact, file or original_state.file)
    if state.status not in STATUSES:
        raise Refused(_("A write should have been either written or refused."))
    if state.file not in MEMORY_FILES and (state.file or state.status == Status.WRITTEN):
        raise Refused(_("The file must be one of %(files)s.") % {"files": listed(MEMORY_FILES)})
    if state.status == Status.WRITTEN and not state.fact:
        raise Refused(_("Say which fact should have been written."))
    if not reason.strip():
        raise Refused(_("Say why: the reason is kept with the correction."))
    rule = _build_rule(audit, pattern, contains, name) if apply_to_future else _check_no_rule(pattern, contains)
    return _store(agent.db, audit, original_state, state, reason=reason.strip(), rule=rule, by=by, row_id=correction_id)


def withdraw(agent: Agent, correction_id: str, *, by: str) -> bool:
    """Delete a correction that stands and is no rule; return whether there was one.

    It runs in the caller's transactions. The rule that the correction ended is on again.
    """
    row = BehaviorCorrection.objects.using(agent.db).filter(id=correction_id, apply_to_future=False).first()
    if row is None or find_by_write(agent.db, row.audit_id)[0].id != row.id:
        return False
    ended = {"audit_id": row.audit_id, "switched_off_at": row.corrected_at, "switched_off_by": row.corrected_by}
    rules.find_rules(agent.db).filter(**ended).order_by().update(switched_off_at=None, switched_off_by=None)
    row.delete()
    log.record(by, "correction_withdrawn", object_type="write", object_id=row.audit_id, agent_id=agent.agent_id)
    return True


def check_correctable(db: str, audit: WriteGuardianAudit) -> None:
    """Raise Refused for a write that nobody can correct."""
    if is_withheld(db, audit):
        raise Refused(_("This write cannot be corrected: somebody who opted out may be quoted in it."))
    if audit.origin == WriteGuardianAudit.Origin.ROLLBACK:
        raise Refused(_("A rollback cannot be corrected. Correct the write that it took back."))


def get_original_state(db: str, audit: WriteGuardianAudit) -> WriteState:
    """Return what was decided about a write, whatever became of it afterwards.

    A write that was rolled back was written nevertheless.
    """
    status = audit.status
    if status == Status.ROLLED_BACK:
        before = Rollback.objects.using(db).filter(audit_id=audit.id).values_list("previous_status", flat=True)
        status = before.first() or Status.WRITTEN.value
    return WriteState(status, audit.candidate_fact or "", audit.target_file or "")


def find_by_write(db: str, audit_id: str) -> list[BehaviorCorrection]:
    """Return the corrections of a write, the one that stands first; 100 at most.

    It is the last one of people, else the last imported one.
    """
    rows = BehaviorCorrection.objects.using(db).filter(audit_id=audit_id)
    return list(rows.order_by(*STANDING)[:100])


def find_active_corrections(db: str, **filters: Any) -> dict[str, BehaviorCorrection]:
    """Return the correction that stands of each write, by the write's id.

    `filters` are those of a query for corrections.
    """
    rows = BehaviorCorrection.objects.using(db).filter(**filters).select_related("audit")
    rows = rows.defer("audit__diff", "audit__hunks_json").order_by(*STANDING)
    by_audit: dict[str, BehaviorCorrection] = {}
    for row in rows:
        by_audit.setdefault(row.audit_id, row)
    return by_audit


def get_corrected_state(row: BehaviorCorrection) -> WriteState:
    """Return what a correction says the write should have been."""
    return WriteState(row.corrected_status, row.corrected_candidate_fact or "", row.corrected_target_file or "")


def _check_sent(fact, reason, pattern):
    """Raise Refused for what cannot be stored of what was sent.

    A fact that stays as it was is not checked.
    """
    if UNUSABLE.search(fact + reason + pattern):
        raise Refused(_("Facts, reasons and patterns cannot contain NUL or incomplete characters."))
    if max(len(fact), len(reason)) > LONGEST_FACT:
        raise Refused(_("A fact and a reason have at most %(most)s characters each.") % {"most": f"{LONGEST_FACT:,}"})


def _check_no_rule(pattern, contains):
    if pattern.strip() or contains:
        raise Refused(_("Words and patterns are for facts to come: choose that the correction applies to them, too."))


def is_same_rule(row: BehaviorCorrection, rule: dict[str, Any]) -> bool:
    """Return whether a correction is this rule, and the rule is on.

    Words, pattern and name are as `add_correction` takes them.
    """
    pattern = _choose_pattern(row.original_candidate_fact or "", rule.get("pattern", ""), rule.get("contains", ()))
    return _is_rule(row, (rule.get("name", "").strip(), pattern))


def _is_rule(row, rule):
    """Whether a correction is the rule with this name (empty: any) and pattern, and is on."""
    name, pattern = rule
    return row.correction_pattern == pattern and not row.switched_off_at and name in ("", row.rule_name)


def _choose_pattern(fact, pattern, contains):
    """Return the pattern of a rule: of its words, else typed, else proposed."""
    if contains:
        return patterns.write_pattern(patterns.check_lines(contains))
    return patterns.clean(pattern) or patterns.propose_pattern(fact)


def _build_rule(audit, pattern, contains, name):
    """Return name and pattern of a rule, which matches the fact it was made for."""
    fact = audit.candidate_fact or ""
    rule_pattern = _choose_pattern(fact, pattern, contains)
    if not rule_pattern:
        raise Refused(_("The fact of this write is not known. Say with words which facts the rule is about."))
    if patterns.matches_text(rule_pattern, ""):
        raise Refused(_("This pattern matches every fact. Say with words which facts the rule is about."))
    missing = patterns.compile_pattern(rule_pattern).find_missing(patterns.encode_fact(fact)) if fact else []
    lines = patterns.read_pattern(rule_pattern)
    if missing and lines:
        words = {"words": ", ".join(lines[missing[0]])}
        raise Refused(_("The fact of this write does not contain “%(words)s”.") % words)
    if missing:
        raise Refused(_("This pattern does not match the fact of this write."))
    if len(name.strip()) > patterns.LONGEST_NAME:
        raise Refused(_("A name has at most %(most)s characters.") % {"most": patterns.LONGEST_NAME})
    return name.strip() or patterns.name_lines(lines or ()), rule_pattern


def _store(db, audit, original_state: WriteState, state: WriteState, *, reason, rule, by, row_id):
    before = next(iter(find_by_write(db, audit.id)), None)
    name, pattern = rule or ("", None)
    if before is None:
        if rule is None and not state.is_other_than(original_state) and not is_against_its_rule(db, audit, state):
            raise Refused(_("Nothing differs from what happened. Change the status, fact or file."))
    elif (
        before.imported_from is None
        and not state.is_other_than(get_corrected_state(before))
        and (not rule or _is_rule(before, rule))
    ):
        raise Refused(_("The last correction of this write says the same."))
    if rule and rules.find_active_rules(db).exclude(audit_id=audit.id).count() >= rules.MAX_RULES:
        raise Refused(
            _("%(most)s rules are switched on. Switch one off before you add another.") % {"most": rules.MAX_RULES}
        )
    now = max(clock.now_ms(), before.corrected_at + 1 if before and before.imported_from is None else 0)
    earlier = rules.find_active_rules(db).filter(audit_id=audit.id).order_by()
    earlier.update(switched_off_at=now, switched_off_by=by)
    return BehaviorCorrection.objects.using(db).create(
        id=row_id or str(ULID()),
        audit_id=audit.id,
        original_status=original_state.status,
        original_candidate_fact=audit.candidate_fact,
        original_target_file=audit.target_file,
        corrected_status=state.status,
        corrected_candidate_fact=state.fact or None,
        corrected_target_file=state.file or None,
        correction_reason=reason,
        apply_to_future=rule is not None,
        correction_pattern=pattern,
        rule_name=name,
        corrected_by=by,
        corrected_at=now,
    )


def is_against_its_rule(db, audit, state: WriteState):
    """Return whether the write names a rule that says something else.

    Then somebody says that the write was right.
    """
    row = rules.find_rules(db).filter(id=audit.rule_id).first() if audit.rule_id else None
    if row is None:
        return False
    ruling = rules.build_ruling(row, fact=audit.candidate_fact or "", target_file=audit.target_file or "")
    return state.is_other_than(WriteState(ruling.status, ruling.fact, ruling.target_file))


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
            if find_by_write(agent.db, row.audit_id)[0].id != row.id:
                raise Refused(_("The write of this rule was corrected again, and the later correction stands."))
            if patterns.matches_text(
                row.correction_pattern, ""
            ):  # of an imported database: ours were checked when they were made
                raise Refused(_("This pattern matches every fact. Say with words which facts the rule is about."))
            rules.check_room(agent.db)
        row.switched_off_at, row.switched_off_by = (None, None) if on else (clock.now_ms(), by)
        row.save(update_fields=["switched_off_at", "switched_off_by"])
    action = "rule_switched_on" if on else "rule_switched_off"
    log.record(by, action, object_type="rule", object_id=row.id, agent_id=agent.agent_id)
    return row
