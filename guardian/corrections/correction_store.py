"""What a write should have been: people say so, and nothing that somebody said is ever changed. The last word stands.

With a pattern, a correction is a rule for facts to come (rules.py).
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
from . import patterns, phrases, rules
from .write_consent import get_write, is_withheld

UNUSABLE = re.compile("[\0\ud800-\udfff]")  # NUL and halves of characters, which no database takes
Status = WriteGuardianAudit.Status
STATUSES = (Status.WRITTEN.value, Status.REFUSED.value)
# The last word of a person of this site, before whatever was imported: an agent may write what is imported.
STANDING = (F("imported_from").asc(nulls_first=True), "-corrected_at", "-id")


@dataclass(frozen=True, slots=True)
class WriteState:
    """What a write was, or should have been. Refused is a fact that stays out of every file."""

    status: str
    fact: str
    file: str

    def is_other_than(self, other: "WriteState") -> bool:
        """Whether something else would be in a file. Of what is refused, fact and file make no difference."""
        if self.status == other.status == Status.REFUSED:
            return False
        return self != other


def correct_write(agent: Agent, audit_id: str, *, by: str, **said: Any) -> BehaviorCorrection:
    """Say what a write should have been, as `add_correction`, and note it in the audit log. Raises NoSuchWrite."""
    audit = get_write(agent.db, audit_id)
    with write_queue.agent_transaction(agent.db):
        row = add_correction(agent, audit, by=by, **said)
    log_correction(agent, row)
    return row


def log_correction(agent: Agent, row: BehaviorCorrection) -> None:
    """Note a stored correction in the audit log."""
    told = {"object_id": row.audit_id, "agent_id": agent.agent_id, "status": row.corrected_status}
    log.record(row.corrected_by, "write_corrected", object_type="write", **told)


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
    """Say what a write should have been, in the caller's transaction. A fact or file that is left out stays as it was.

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
    was = get_original_state(agent.db, audit)
    said = _said(was, status, fact, file)
    _check(said, reason)
    rule = _rule(audit, pattern, contains, name) if apply_to_future else _no_rule(pattern, contains)
    return _stored(agent.db, audit, was, said, reason=reason.strip(), rule=rule, by=by, row_id=correction_id)


def withdraw(agent: Agent, correction_id: str, *, by: str) -> bool:
    """Take back a correction that stands and is no rule, in the caller's transactions; whether there was one.

    The rule that it ended is on again.
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
    """Raises Refused for a write that nobody can correct."""
    if is_withheld(db, audit):
        raise Refused(_("This write cannot be corrected: somebody who opted out may be quoted in it."))
    if audit.origin == WriteGuardianAudit.Origin.ROLLBACK:
        raise Refused(_("A rollback cannot be corrected. Correct the write that it took back."))


def get_original_state(db: str, audit: WriteGuardianAudit) -> WriteState:
    """What was decided about a write, whatever became of it afterwards: rolled back, it was written nevertheless."""
    status = audit.status
    if status == Status.ROLLED_BACK:
        before = Rollback.objects.using(db).filter(audit_id=audit.id).values_list("previous_status", flat=True)
        status = before.first() or Status.WRITTEN.value
    return WriteState(status, audit.candidate_fact or "", audit.target_file or "")


def find_by_write(db: str, audit_id: str) -> list[BehaviorCorrection]:
    """The corrections of a write, the one that stands first: the last one of people, else the last imported one."""
    rows = BehaviorCorrection.objects.using(db).filter(audit_id=audit_id)
    return list(rows.order_by(*STANDING)[:100])


def find_active_corrections(db: str, **about: Any) -> dict[str, BehaviorCorrection]:
    """The correction that stands of each write, by its id. `about` are filters for corrections."""
    rows = BehaviorCorrection.objects.using(db).filter(**about).select_related("audit")
    rows = rows.defer("audit__diff", "audit__hunks_json").order_by(*STANDING)
    found: dict[str, BehaviorCorrection] = {}
    for row in rows:
        found.setdefault(row.audit_id, row)
    return found


def get_corrected_state(row: BehaviorCorrection) -> WriteState:
    """What a correction says the write should have been."""
    return WriteState(row.corrected_status, row.corrected_candidate_fact or "", row.corrected_target_file or "")


def _said(was: WriteState, status, fact, file):
    return WriteState(status, (fact or "").strip() or was.fact, file or was.file)


def _check(said: WriteState, reason):
    if said.status not in STATUSES:
        raise Refused(_("A write should have been either written or refused."))
    if said.file not in MEMORY_FILES and (said.file or said.status == Status.WRITTEN):
        raise Refused(_("The file must be one of %(files)s.") % {"files": listed(MEMORY_FILES)})
    if said.status == Status.WRITTEN and not said.fact:
        raise Refused(_("Say which fact should have been written."))
    if not reason.strip():
        raise Refused(_("Say why: the reason is kept with the correction."))


def _check_sent(fact, reason, pattern):
    """Raises Refused for what cannot be stored of what was sent; a fact that stays as it was is not checked."""
    if UNUSABLE.search(fact + reason + pattern):
        raise Refused(_("Facts, reasons and patterns cannot contain NUL or incomplete characters."))
    if max(len(fact), len(reason)) > LONGEST_FACT:
        raise Refused(_("A fact and a reason have at most %(most)s characters each.") % {"most": f"{LONGEST_FACT:,}"})


def _no_rule(pattern, contains):
    if pattern.strip() or contains:
        raise Refused(_("Words and patterns are for facts to come: choose that the correction applies to them, too."))


def is_same_rule(row: BehaviorCorrection, rule: dict[str, Any]) -> bool:
    """Whether a correction is this rule, and it is on: words, pattern and name as `add_correction` takes them."""
    made = _pattern_of(row.original_candidate_fact or "", rule.get("pattern", ""), rule.get("contains", ()))
    return _is_rule(row, (rule.get("name", "").strip(), made))


def _is_rule(row, rule):
    """Whether a correction is the rule with this name (empty: any) and pattern, and is on."""
    name, pattern = rule
    return row.correction_pattern == pattern and not row.switched_off_at and name in ("", row.rule_name)


def _pattern_of(fact, pattern, contains):
    """The pattern of a rule: that of its words, else the one that was typed, else the one that is proposed."""
    if contains:
        return phrases.write_pattern(phrases.check_lines(contains))
    return patterns.clean(pattern) or patterns.propose_pattern(fact)


def _rule(audit, pattern, contains, name):
    """Name and pattern of a rule, which matches the fact it was made for."""
    fact = audit.candidate_fact or ""
    made = _pattern_of(fact, pattern, contains)
    if not made:
        raise Refused(_("The fact of this write is not known. Say with words which facts the rule is about."))
    if patterns.matches_text(made, ""):
        raise Refused(_("This pattern matches every fact. Say with words which facts the rule is about."))
    missing = patterns.compile_pattern(made).find_missing(patterns.encode_fact(fact)) if fact else []
    lines = phrases.read_pattern(made)
    if missing and lines:
        words = {"words": ", ".join(lines[missing[0]])}
        raise Refused(_("The fact of this write does not contain “%(words)s”.") % words)
    if missing:
        raise Refused(_("This pattern does not match the fact of this write."))
    if len(name.strip()) > phrases.LONGEST_NAME:
        raise Refused(_("A name has at most %(most)s characters.") % {"most": phrases.LONGEST_NAME})
    return name.strip() or phrases.name_lines(lines or ()), made


def _stored(db, audit, was: WriteState, said: WriteState, *, reason, rule, by, row_id):
    before = next(iter(find_by_write(db, audit.id)), None)
    name, pattern = rule or ("", None)
    _check_differs(db, audit, was, said, before, rule)
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
        original_status=was.status,
        original_candidate_fact=audit.candidate_fact,
        original_target_file=audit.target_file,
        corrected_status=said.status,
        corrected_candidate_fact=said.fact or None,
        corrected_target_file=said.file or None,
        correction_reason=reason,
        apply_to_future=rule is not None,
        correction_pattern=pattern,
        rule_name=name,
        corrected_by=by,
        corrected_at=now,
    )


def _check_differs(db, audit, was: WriteState, said: WriteState, before, rule):
    if before is None:
        if rule is None and not said.is_other_than(was) and not is_against_its_rule(db, audit, said):
            raise Refused(_("Nothing differs from what happened. Change the status, fact or file."))
    elif (
        before.imported_from is None
        and not said.is_other_than(get_corrected_state(before))
        and (not rule or _is_rule(before, rule))
    ):
        raise Refused(_("The last correction of this write says the same."))


def is_against_its_rule(db, audit, said: WriteState):
    """Whether the write names a rule that says something else: then somebody says that the write was right."""
    row = rules.find_rules(db).filter(id=audit.rule_id).first() if audit.rule_id else None
    if row is None:
        return False
    found = rules.build_ruling(row, fact=audit.candidate_fact or "", target_file=audit.target_file or "")
    return said.is_other_than(WriteState(found.status, found.fact, found.target_file))
