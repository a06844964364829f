"""Rules: corrections that apply to facts to come.

Finds the rule that decides about a fact, and flags the writes that go against one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from gate.models import MemoryGateDecision
from gate.recording import windows
from ledger import consent
from openclaw_web.errors import Refused

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import patterns


class NoSuchWrite(Refused):
    """The agent has no such write."""

    status = 404


def get_write(db: str, audit_id: str) -> WriteGuardianAudit:
    """Return a write of an agent, without its diff. Raises NoSuchWrite."""
    rows = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json")
    audit = rows.filter(id=audit_id).first()
    if audit is None:
        raise NoSuchWrite(_("This agent has no write %(id)s.") % {"id": audit_id})
    return audit


def is_withheld(db: str, audit: WriteGuardianAudit) -> bool:
    """Return whether a write's fact may hold words of somebody who has opted out.

    While anybody has, that is every write without a turn. Of a write with a decision, what the gate saw counts too.
    """
    decision = MemoryGateDecision.objects.using(db).defer("raw_response").filter(id=audit.decision_id)
    return bool(consent.find_withheld_keys(db, [audit.turn_id]) or windows.find_withheld(db, decision))


MAX_RULES = 100  # rules of one agent that are switched on: each is compared with every fact
Status, Origin = WriteGuardianAudit.Status, WriteGuardianAudit.Origin
REPORTED_ORIGINS = (Origin.RECORDED, Origin.IMPORTED)
NEWEST_FIRST = ("-corrected_at", "-id")
READ = (
    *("id", "audit_id", "correction_pattern", "corrected_at", "corrected_status", "correction_reason"),
    *("original_candidate_fact", "corrected_candidate_fact", "original_target_file", "corrected_target_file"),
)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Decision of a rule on a fact.

    The fact is written or refused; `fact` and `target_file` are which fact belongs into which file.
    """

    rule_id: str
    status: str
    fact: str
    target_file: str
    reason: str

    def differs(self, *, fact: str, target_file: str) -> bool:
        """Whether the rule says something else than to write this fact into this file."""
        return self.status == Status.REFUSED or (self.fact, self.target_file) != (fact, target_file)


def find_ruling(db: str, *, fact: str, target_file: str) -> Ruling | None:
    """Return the ruling of the newest active rule that matches a fact, else None.

    A rule may hold words of somebody who has opted out by now: it gives nothing away, and the fact is refused.
    """
    row = _find_matching(read_rule_rows(db), fact)
    if row is None:
        return None
    if is_withheld(db, get_write(db, row.audit_id)):
        return Ruling(row.id, Status.REFUSED, fact, target_file, _("Somebody opted out whose words this rule holds."))
    return build_ruling(row, fact=fact, target_file=target_file)


def read_rule_rows(db: str) -> list[Any]:
    """Read the active rules as `flag_writes` needs them, the newest first.

    They are rows, not objects, because a plugin waits.
    """
    return list(find_active_rules(db).values_list(*READ, named=True)[:MAX_RULES])


def flag_writes(audits: Sequence[WriteGuardianAudit], rows: Sequence[Any]) -> int:
    """Name in each of these writes the rule that it goes against; return how many.

    The caller stores the writes; `rows` are those of `read_rule_rows`. Only a write of somebody else is flagged, and
    only one that came after the rule. Its status stays, since the file has been changed. A write that names a rule
    keeps it.
    """
    flagged = 0
    for audit in filter(_may_be_flagged, audits) if rows else ():
        made_before = [row for row in rows if row.corrected_at <= audit.created_at]
        fact, target_file = audit.candidate_fact or "", audit.target_file or ""
        row = _find_matching(made_before, fact)
        if row and build_ruling(row, fact=fact, target_file=target_file).differs(fact=fact, target_file=target_file):
            audit.rule_id = row.id
            flagged += 1
    return flagged


def _may_be_flagged(audit):
    return (
        audit.status == Status.WRITTEN
        and audit.origin in REPORTED_ORIGINS
        and audit.candidate_fact
        and audit.rule_id is None
    )


def find_rules(db: str) -> QuerySet[BehaviorCorrection]:
    """Return every correction that became a rule, switched off or not."""
    return BehaviorCorrection.objects.using(db).filter(apply_to_future=True, correction_pattern__isnull=False)


def find_active_rules(db: str) -> QuerySet[BehaviorCorrection]:
    """Return the active rules, the newest first.

    Where several match a fact, the first of them decides.
    """
    return find_rules(db).filter(switched_off_at=None).order_by(*NEWEST_FIRST)


def check_room(db: str, *, except_audit_id: str = "") -> None:
    """Raise Refused when no other rule can be switched on.

    Rules of the write `except_audit_id` do not count.
    """
    if find_active_rules(db).exclude(audit_id=except_audit_id)[:MAX_RULES].count() >= MAX_RULES:
        raise Refused(_("%(most)s rules are switched on. Switch one off first.") % {"most": MAX_RULES})


def _find_matching(rows, fact):
    """Return the first of these rules whose pattern matches a fact."""
    encoded_fact = patterns.encode_fact(fact)
    return next((rule for rule in rows if _matches(rule, encoded_fact)), None)


def _matches(rule, encoded_fact):
    try:
        return patterns.matches_encoded(rule.correction_pattern, encoded_fact)
    except Refused:  # of another engine, as in an imported database: such a rule matches nothing
        return False


def build_ruling(rule: Any, *, fact: str, target_file: str) -> Ruling:
    """Return the ruling of a rule on a fact that it matches.

    It leaves as it is what its correction left as it was.
    """
    is_other_fact = rule.corrected_candidate_fact and rule.corrected_candidate_fact != rule.original_candidate_fact
    is_other_file = rule.corrected_target_file and rule.corrected_target_file != rule.original_target_file
    return Ruling(
        rule_id=rule.id,
        status=rule.corrected_status,
        fact=(rule.corrected_candidate_fact if is_other_fact else None) or fact,
        target_file=(rule.corrected_target_file if is_other_file else None) or target_file,
        reason=rule.correction_reason,
    )
