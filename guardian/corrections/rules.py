"""Rules: corrections that hold for facts to come. What they say of a fact, and which writes they are named in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import patterns, write_consent

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
    """What a rule says of a fact: written or refused, and which fact belongs into which file."""

    rule_id: str
    status: str
    fact: str
    target_file: str
    reason: str

    def differs(self, *, fact: str, target_file: str) -> bool:
        """Whether writing this fact into this file is something else than the rule says."""
        return self.status == Status.REFUSED or (self.fact, self.target_file) != (fact, target_file)


def find_ruling(db: str, *, fact: str, target_file: str) -> Ruling | None:
    """What the newest switched-on rule says whose pattern matches a fact; None: no rule speaks about it.

    A rule may hold words of somebody who has opted out by now: it gives nothing away, and the fact is refused.
    """
    row = _matching(read_rule_rows(db), fact)
    if row is None:
        return None
    if write_consent.is_withheld(db, write_consent.get_write(db, row.audit_id)):
        return Ruling(row.id, Status.REFUSED, fact, target_file, _("Somebody opted out whose words this rule holds."))
    return build_ruling(row, fact=fact, target_file=target_file)


def read_rule_rows(db: str) -> list[Any]:
    """What `flag` knows of the rules that are switched on, the newest first. Rows, not objects: a plugin waits."""
    return list(find_active_rules(db).values_list(*READ, named=True)[:MAX_RULES])


def flag_writes(audits: Sequence[WriteGuardianAudit], rows: Sequence[Any]) -> int:
    """Name in each of these writes, which the caller stores, the rule `in_force` that it goes against; says how many.

    Only what somebody else wrote is flagged, after the rule was made. Its status stays: the file has been changed. A
    write that names a rule keeps it.
    """
    flagged = 0
    for one in filter(_may_be_flagged, audits) if rows else ():
        made_before = [row for row in rows if row.corrected_at <= one.created_at]
        fact, target_file = one.candidate_fact or "", one.target_file or ""
        row = _matching(made_before, fact)
        if row and build_ruling(row, fact=fact, target_file=target_file).differs(fact=fact, target_file=target_file):
            one.rule_id = row.id
            flagged += 1
    return flagged


def _may_be_flagged(one):
    return (
        one.status == Status.WRITTEN and one.origin in REPORTED_ORIGINS and one.candidate_fact and one.rule_id is None
    )


def find_rules(db: str) -> QuerySet[BehaviorCorrection]:
    """Every correction that became a rule, switched off or not."""
    return BehaviorCorrection.objects.using(db).filter(apply_to_future=True, correction_pattern__isnull=False)


def find_active_rules(db: str) -> QuerySet[BehaviorCorrection]:
    """The rules that are in force, the newest first: where several match a fact, the first of them decides."""
    return find_rules(db).filter(switched_off_at=None).order_by(*NEWEST_FIRST)


def check_room(db: str, *, but: str = "") -> None:
    """Raises Refused when no other rule can be switched on; those of the write `but` do not count."""
    if find_active_rules(db).exclude(audit_id=but)[:MAX_RULES].count() >= MAX_RULES:
        raise Refused(_("%(most)s rules are switched on. Switch one off first.") % {"most": MAX_RULES})


def _matching(rows, fact):
    """The first of these rules whose pattern matches a fact."""
    seen = patterns.encode_fact(fact)
    return next((one for one in rows if _matches(one, seen)), None)


def _matches(rule, seen):
    try:
        return patterns.matches_encoded(rule.correction_pattern, seen)
    except Refused:  # of another engine's making, as in an imported database: a rule that nobody can read says nothing
        return False


def build_ruling(rule: Any, *, fact: str, target_file: str) -> Ruling:
    """What a rule says of a fact that it matches: what its correction left as it was, it leaves as it is."""
    is_other_fact = rule.corrected_candidate_fact and rule.corrected_candidate_fact != rule.original_candidate_fact
    is_other_file = rule.corrected_target_file and rule.corrected_target_file != rule.original_target_file
    return Ruling(
        rule_id=rule.id,
        status=rule.corrected_status,
        fact=(rule.corrected_candidate_fact if is_other_fact else None) or fact,
        target_file=(rule.corrected_target_file if is_other_file else None) or target_file,
        reason=rule.correction_reason,
    )
